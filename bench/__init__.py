"""What the warehouse costs, beside what people do today."""
