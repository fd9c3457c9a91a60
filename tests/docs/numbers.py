"""Looks up each figure of the pages' tables and prose, which scripts/tables --numbers lists, in the file that it is said to be from, and expects every
number of these tables to be such a figure, each phrase of the prose to be on its page, and no other table to have measured figures.
numbers.py LIST      in the root of the tree"""
import csv
import functools
import glob
import gzip
import json
import math
import os
import re
import shlex
import subprocess
import sys

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
wrong = []


@functools.cache
def content(name):
    if name.startswith("gamut "):
        text = subprocess.run([os.environ["GAMUT"], *shlex.split(name)[1:]], check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
        return list(csv.DictReader(text.splitlines())) if "csv" in name.split() else json.loads(text)
    with (gzip.open if name.endswith(".gz") else open)(name, "rt") as source:
        if name.endswith(".csv"):
            return list(csv.DictReader(source))
        if name.endswith(".txt"):
            rows = [line.strip().partition("  ") for line in source if line.startswith("  ")]
            return {words: list(map(float, re.findall(r"[\d.]+", rest))) for words, _, rest in rows}
        return json.load(source)


def value(place):
    found = content(place["file"])
    for step in place["path"]:
        found = found[step]
    return found


def made(how, of):
    if how == "count":
        return len(of)
    if how.startswith("share of "):
        return len(of) / int(how.split()[-1])
    of = [float(x) for x in of]
    if how == "sum":
        return sum(of)
    if how == "difference":
        return of[0] - of[1]
    if how == "ratio":
        return of[0] / of[1]
    if how == "excess":
        return of[0] / of[1] - 1
    if how == "saving":
        return 1 - of[0] / of[1]
    if how == "mean":
        return math.exp(sum(math.log(a / b) for a, b in zip(of[::2], of[1::2])) / (len(of) // 2))
    raise ValueError(how)


figures = [json.loads(line) for line in open(sys.argv[1])]
for figure in figures:
    exact = value(figure) if "path" in figure else made(figure["how"], [value(place) for place in figure["of"]])
    text = figure["text"].replace(",", "")
    if figure["unit"] is None:
        same = exact == figure["text"]
    elif figure["unit"] == "in":
        same = figure["text"] in NUMBER.findall(exact)
    else:
        shown, last = float(text) * figure["unit"], 10 ** -len(text.partition(".")[2]) * abs(figure["unit"])
        same = abs(shown - float(exact)) <= 0.5000001 * last
    if not same:
        wrong.append(f"{figure['page']}, {figure['table']}: {figure['text']} is {exact} in the file")

words = functools.cache(lambda page: " ".join(open(page).read().split()))
for figure in figures:
    if "phrase" in figure and not (figure["text"] in figure["phrase"] and " ".join(figure["phrase"].split()) in words(figure["page"])):
        wrong.append(f"{figure['page']} does not say: {figure['phrase']}")

# The first column has names, and so has what stands between backticks; "what it does" of applications has words.
tables = 0
for page in sorted({f["page"] for f in figures}):
    of_table = None
    for line in open(page):
        if (match := re.match(r"<!--tables:(\w+(?:-\w+)*)", line)) and match[1] != "prose":
            of_table, head = match[1], True
            tables += of_table in {f["table"] for f in figures}
            known = {n for f in figures if (f["page"], f["table"]) == (page, of_table) for n in NUMBER.findall(f["text"])}
        elif of_table and line.startswith("|"):
            cells = line.strip().strip("|").split("|")[1:] if of_table != "held" else [line]
            cells = cells[1:] if of_table == "applications" else cells
            if not head and not line.startswith("|---"):
                text = re.sub(r"`[^`]*`|as published in 2017", "", " ".join(cells))
                wrong += [f"{page}, {of_table}: {n} is no figure of a file" for n in NUMBER.findall(text) if n not in known]
            head = False
        else:
            of_table = None

# A table with times or bytes has a comment that names what it is made from.
for page in ["README.md", *glob.glob("docs/*.md"), *glob.glob("strategies/*/README.md"), *glob.glob("suites/**/README.md", recursive=True)]:
    made_of = False
    for line in open(page):
        if re.search(r"\| \**\d[\d.,]* (?:[nµm]?s|[KMG]i?B|%)\** (?:\[|±|\|)", line) and not made_of:
            wrong.append(f"{page}: a table by hand, which scripts/tables could make: {line.strip()}")
        if not line.startswith("|"):
            made_of = line.startswith("<!--tables:")

in_prose = sum("phrase" in f for f in figures)
print(f"{len(figures) - in_prose} figures in {tables} tables and {in_prose} in prose, {len(wrong)} wrong")
print(*wrong, sep="\n", file=sys.stderr)
sys.exit(bool(wrong) or len(figures) - in_prose < 500 or in_prose < 50)
