// A statically linked server in Go: web PORT.
package main

import (
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/sleep":
			time.Sleep(600 * time.Millisecond)
		case "/compute":
			for end := time.Now().Add(600 * time.Millisecond); time.Now().Before(end); {
			}
		}
		io.WriteString(writer, "hello\n")
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		os.Exit(1)
	}
}
