"""Export jobs in the formats of scheduler simulators, with a report of dropped and defaulted fields."""
