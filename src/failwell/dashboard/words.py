"""What the words on the page mean. The page shows them beside the numbers, the docs list them."""

from failwell.telemetry.recovery import Verdict

MEANINGS = {
    "calls": "What agents asked of tools. Retries below a call are part of it.",
    "failed": "Calls that gave the agent an error in place of a result.",
    "trouble": "One or more failed calls of one tool with one code, until that tool succeeds or the session ends.",
    "recovered": "Troubles that the agent got over: a retry, a fallback, the tool itself or another one helped.",
    "stuck": "Troubles that nothing helped against: the agent gave up, or repeated the same failing call.",
    "turns_saved": "Troubles that a retry, a repair or a fallback settled before the model saw them.",
    "calls_wasted": "Failed calls that the model saw. Each took it a turn.",
    "time_wasted": "Time spent in failed calls and in waiting for the next try.",
    "duplicates_prevented": "Calls that may have taken effect and were not made again, as the tool may not run twice.",
    "lost": "Records that found no room in the buffer of a recorder, so that they are missing here.",
}

VERDICT_WORDS: dict[Verdict, str] = {
    "by_retry": "A retry settled it, and the agent never knew.",
    "by_repair": "A call with corrected arguments settled it, and the agent never knew.",
    "by_fallback": "Something else answered in the tool's place.",
    "at_once": "The agent's next call of the tool succeeded.",
    "later": "The agent tried on, and the tool succeeded in the end.",
    "elsewhere": "The agent got on with another tool.",
    "looped": "The agent repeated the same failing call, and the tool never succeeded.",
    "given_up": "The tool never succeeded, and no other tool helped.",
}
