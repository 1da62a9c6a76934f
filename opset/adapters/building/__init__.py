"""Building blocks that adapters of several families share."""
