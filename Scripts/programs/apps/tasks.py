"""Tasks for celery."""
import os

import celery
from blocking import block

app = celery.Celery("tasks", broker=os.environ["BROKER"], backend=os.environ["BROKER"])


@app.task
def work(path):
    block(path)
    return "hello"
