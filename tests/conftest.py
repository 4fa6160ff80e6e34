import os
import signal

from hypothesis import settings

# Who starts the tests in the background has them ignore interrupts and hang-ups, and so would the programs they start.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)

# Everything is spelt out, because Hypothesis starts from other defaults where CI is set.
# quick and thorough run the same examples each time, so a red build speaks of the change and not of luck;
# nightly searches anew each time and prints the line that reproduces what it finds.
settings.register_profile("quick", max_examples=50, deadline=None, derandomize=True, database=None, print_blob=True)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=200)
settings.register_profile("nightly", max_examples=2000, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
