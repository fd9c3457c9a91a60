"""Reads lines of JSON, {"schema": path, "value": ...}, and answers each with a line: valid or invalid."""
import json
import sys

from jsonschema import Draft202012Validator

validators = {}
for line in sys.stdin:
    question = json.loads(line)
    path = question["schema"]
    if path not in validators:
        with open(path) as file:
            schema = json.load(file)
        Draft202012Validator.check_schema(schema)
        validators[path] = Draft202012Validator(schema)
    print("valid" if validators[path].is_valid(question["value"]) else "invalid", flush=True)
