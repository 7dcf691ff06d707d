"""REINFORCE on Gymnasium's CartPole: an episode, then one optimizer step."""

import gymnasium
import torch

STEPS = 6


def episode(environment: gymnasium.Env, policy: torch.nn.Module) -> tuple[list[torch.Tensor], float]:
    chosen, total = [], 0.0
    state, _ = environment.reset(seed=0)
    for _ in range(30):
        actions = torch.distributions.Categorical(logits=policy(torch.as_tensor(state)))
        action = actions.sample()
        chosen.append(actions.log_prob(action))
        state, reward, ended, _, _ = environment.step(action.item())
        total += float(reward)
        if ended:
            break
    return chosen, total


def main() -> None:
    torch.manual_seed(0)
    environment = gymnasium.make("CartPole-v1")
    policy = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(STEPS):
        chosen, total = episode(environment, policy)
        loss = -torch.stack(chosen).sum() * total
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print("loss", loss.item().hex())


if __name__ == "__main__":
    main()
