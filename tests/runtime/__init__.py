"""Each fact about run time that a rule states, reproduced on a CPU with the real classes of each release."""
