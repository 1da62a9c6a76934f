"""Parts and wholes of models: `extraction` cuts a part out of a model, `merging` joins two models into one."""
