"""DRLH, the default agent: network → reward → walk → learner → hasher."""
