"""Jobs as schedulers' simulators take them, with an account of what each format cannot say."""
