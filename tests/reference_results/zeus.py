"""Zeus's views and named queries, computed by pandas from the raw files alone.

Each function takes the folder of the raw dump and returns the expected rows. Views come first, in the order
of their dependencies, then the named queries, which read the frames of the views and never the database.
"""

import raw_frames

WORKLOAD = ["dataset", "network"]
TRAINED = [*WORKLOAD, "optimizer", "batch_size"]
CONFIG = ["gpu", *TRAINED, "power_limit_w"]


# Views.


# Named queries.


# Function and key columns of each name. Rows without key columns are compared in order.

VIEWS = {
    "zeus.energy_to_accuracy_v1": (raw_frames.zeus_energy_to_accuracy, [*CONFIG, "target_metric"]),
}
