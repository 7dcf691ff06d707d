"""``generate()`` of transformers for four prompts; no training."""

import torch
import transformers

PROMPTS, NEW = 4, 6


def main() -> None:
    transformers.set_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_head=2, n_embd=32, n_positions=32, vocab_size=64, bos_token_id=0, eos_token_id=None
    )
    model = transformers.GPT2LMHeadModel(config).eval()
    for prompt in range(PROMPTS):
        tokens = torch.arange(prompt, prompt + 8).reshape(1, 8)
        mask = torch.ones_like(tokens)
        text = model.generate(tokens, attention_mask=mask, max_new_tokens=NEW, do_sample=False, pad_token_id=0)
        print("loss", *text[0].tolist())


if __name__ == "__main__":
    main()
