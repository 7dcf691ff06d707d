"""Supervised fine-tuning with TRL's SFTTrainer: a small Qwen2 with random weights and LoRA adapters of PEFT."""

import datasets
import peft
import tokenizers
import transformers
import trl

STEPS = 8
WORDS = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(40))]


def make_tokenizer() -> transformers.PreTrainedTokenizerFast:
    words = tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>")
    plain = tokenizers.Tokenizer(words)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def main() -> None:
    transformers.set_seed(0)
    config = transformers.Qwen2Config(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=32,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    rows = [{"text": " ".join(f"w{(row + column) % 40}" for column in range(12))} for row in range(2 * STEPS)]
    trainer = trl.SFTTrainer(
        transformers.Qwen2ForCausalLM(config),
        trl.SFTConfig(
            output_dir="sft",
            max_steps=STEPS,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=1,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=True,
            disable_tqdm=True,
            bf16=False,
            max_length=16,
            gradient_checkpointing=False,
        ),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=make_tokenizer(),
        peft_config=peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    trainer.train()
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print("loss", float(entry["loss"]).hex())


if __name__ == "__main__":
    main()
