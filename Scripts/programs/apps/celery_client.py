"""Submits celery tasks, one after another: celery_client.py SECONDS PATH. With 0 seconds it submits one task,
and prints the times of the request and of its end, by the monotonic clock."""
import sys
import time

from tasks import work

end = time.monotonic() + float(sys.argv[1])
asked = time.monotonic()
while True:
    print(work.delay(sys.argv[2]).get(timeout=20), flush=True)
    if time.monotonic() >= end:
        break
print(asked, time.monotonic())
