# An asynchronous web server: PORT.
import asyncdispatch, asynchttpserver, os, strutils

proc answer(request: Request) {.async.} =
  await request.respond(Http200, "hello")

waitFor newAsyncHttpServer().serve(Port(parseInt(paramStr(1))), answer, "127.0.0.1")
