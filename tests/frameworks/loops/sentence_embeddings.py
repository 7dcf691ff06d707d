"""The trainer of sentence-transformers on a small BERT with random weights."""

import datasets
import sentence_transformers
import tokenizers
import torch
import transformers
from sentence_transformers.sentence_transformer import losses

STEPS = 6
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(40))]


def make_model(folder: str) -> sentence_transformers.SentenceTransformer:
    words = tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]")
    plain = tokenizers.Tokenizer(words)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
    )
    transformers.BertModel(config).save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=plain, model_max_length=32, **special).save_pretrained(folder)
    return sentence_transformers.SentenceTransformer(folder, device="cpu")


def main() -> None:
    transformers.set_seed(0)
    torch.manual_seed(0)
    model = make_model("bert")
    rows = [{"anchor": f"w{row} w{row + 1}", "positive": f"w{row + 1} w{row}"} for row in range(STEPS * 4)]
    arguments = sentence_transformers.SentenceTransformerTrainingArguments(
        output_dir="embeddings",
        max_steps=STEPS,
        per_device_train_batch_size=4,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    loss = losses.MultipleNegativesRankingLoss(model)
    trainer = sentence_transformers.SentenceTransformerTrainer(
        model, arguments, train_dataset=datasets.Dataset.from_list(rows), loss=loss
    )
    trainer.train()
    for entry in trainer.state.log_history:
        if "loss" in entry:
            print("loss", float(entry["loss"]).hex())


if __name__ == "__main__":
    main()
