// Command peer answers with Go's net/http, on as many processors as it is told.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"
)

// fixed answers with the same body each time; the header's values are made once.
func fixed(contentType string, body []byte) http.HandlerFunc {
	types := []string{contentType}
	lengths := []string{strconv.Itoa(len(body))}
	return func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header["Content-Type"] = types
		header["Content-Length"] = lengths
		w.Write(body)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body := bytes.NewBuffer(make([]byte, 0, max(r.ContentLength, 512)))
	if _, err := io.Copy(body, r.Body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	contentType := r.Header.Get("Content-Type")
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Write(body.Bytes())
}

// max is how much to make room for: what is announced, within reason.
func max(announced, least int64) int64 {
	if announced > 1<<20 {
		return 1 << 20
	}
	if announced > least {
		return announced + 1
	}
	return least
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(runtime.Version())
		return
	}
	if len(os.Args) != 3 && len(os.Args) != 6 {
		log.Fatal("usage: go-peer PORT WORKERS [TLS_PORT CERTIFICATE KEY] | --version")
	}
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil || workers < 1 {
		log.Fatal("the number of workers is not a number above 0")
	}
	runtime.GOMAXPROCS(workers)
	debug.SetGCPercent(400) // next to nothing is alive: collect at 16 MiB, not at 4
	const plain = "text/plain; charset=utf-8"
	pages := http.NewServeMux()
	pages.Handle("/plaintext", fixed(plain, []byte("Hello, World!")))
	pages.Handle("/json", fixed("application/json", []byte(`{"message":"Hello, World!"}`)))
	pages.Handle("/16k", fixed(plain, bytes.Repeat([]byte("x"), 16*1024)))
	pages.Handle("/1m", fixed(plain, bytes.Repeat([]byte("x"), 1024*1024)))
	pages.HandleFunc("/echo", echo)
	pages.HandleFunc("/spin/", answerSpin)
	server := &http.Server{
		Addr:        "127.0.0.1:" + os.Args[1],
		Handler:     pages,
		IdleTimeout: 75 * time.Second,
	}
	if len(os.Args) == 6 { // HTTP/2, too
		secure := &http.Server{
			Addr:        "127.0.0.1:" + os.Args[3],
			Handler:     pages,
			IdleTimeout: server.IdleTimeout,
		}
		go func() { log.Fatal(secure.ListenAndServeTLS(os.Args[4], os.Args[5])) }()
	}
	log.Fatal(server.ListenAndServe())
}
