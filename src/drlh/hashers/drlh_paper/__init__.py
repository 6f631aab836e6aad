"""The paper's agent, a textbook DQN: environment → reward → replay → network → learner → hasher; gym for others."""
