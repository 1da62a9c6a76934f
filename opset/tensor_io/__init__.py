"""Values in files: .npy and .npz, JSON, .pb and folders of test data; random inputs; statistics of values."""
