"""A GPT-2 with random weights, Hugging Face's Trainer: two micro-batches per step, evaluations every third step."""

import torch
import transformers

STEPS = 8


def main(folder: str = "trainer") -> None:
    transformers.set_seed(0)
    config = transformers.GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=16, vocab_size=64)
    tokens = torch.arange(2 * STEPS * 2 * 16).reshape(-1, 16) % 64
    data = [{"input_ids": row, "labels": row} for row in tokens]
    arguments = transformers.TrainingArguments(
        output_dir=folder,
        max_steps=STEPS,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=3,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    model = transformers.GPT2LMHeadModel(config)
    trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data[:4])
    trainer.train()
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print("loss", float(entry["loss"]).hex())


if __name__ == "__main__":
    main()
