"""A Django server with a synchronous handler: django_server.py runserver …"""
import logging
import sys

from blocking import block
from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.urls import re_path


def handle(request):
    block(request.path)
    return HttpResponse("hello\n", content_type="text/plain")


urlpatterns = [re_path("", handle)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="programs", MIDDLEWARE=[])
logging.getLogger("django.server").setLevel(logging.CRITICAL)
execute_from_command_line(sys.argv)
