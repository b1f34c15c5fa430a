"""The dependence forest on the CPU, with its templates."""
