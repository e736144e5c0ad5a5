"""Zeus's energy to accuracy, computed by pandas from the raw files alone."""

import raw_frames

CONFIG = ["gpu", "dataset", "network", "optimizer", "batch_size", "power_limit_w", "target_metric"]
VIEWS = {"zeus.energy_to_accuracy_v1": (raw_frames.zeus_energy_to_accuracy, CONFIG)}
