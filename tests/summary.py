#!/usr/bin/env python3
"""One line of counts of what ctest wrote with --output-junit, and why tests were skipped: each reason with its count.

usage: summary.py JUNIT
"""
import re
import sys
import xml.etree.ElementTree as xml
from collections import Counter


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        # What a program prints may hold what XML may not.
        text = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", file.read())
    cases = xml.fromstring(text).findall("testcase")
    states = Counter(case.get("status") for case in cases)
    reasons = Counter()
    for case in cases:
        if case.get("status") == "notrun":
            printed = case.findtext("system-out") or ""
            told = dict.fromkeys(re.findall(r"^SKIPPED: (.*)$", printed, re.M))
            reasons["; ".join(told) or "no reason given"] += 1
    print(f"{states['run']} passed, {states['fail']} failed, {states['notrun']} skipped")
    for reason, count in reasons.most_common():
        print(f"  skipped {count}: {reason}")


main()
