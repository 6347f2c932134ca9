// Command peer sends messages of WebSockets back, and those of a chat to all others, with
// gorilla/websocket, on as many processors as it is told.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/gorilla/websocket"
)

var upgrader = websocket.Upgrader{}

func echo(w http.ResponseWriter, r *http.Request) {
	client, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer client.Close()
	for {
		kind, message, err := client.ReadMessage()
		if err != nil || client.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// member is sent what its channel has, by a goroutine of its own.
type member struct {
	client *websocket.Conn
	out    chan *websocket.PreparedMessage
}

var (
	lock sync.Mutex
	room = map[*member]bool{}
)

func (m *member) send() {
	for message := range m.out {
		if m.client.WritePreparedMessage(message) != nil {
			return
		}
	}
}

func tellOthers(from *member, kind int, text []byte) {
	message, err := websocket.NewPreparedMessage(kind, text)
	if err != nil {
		return
	}
	lock.Lock()
	defer lock.Unlock()
	for each := range room {
		if each == from {
			continue
		}
		select {
		case each.out <- message:
		default: // it does not read
			each.client.Close()
		}
	}
}

func chat(w http.ResponseWriter, r *http.Request) {
	client, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer client.Close()
	self := &member{client, make(chan *websocket.PreparedMessage, 64)}
	go self.send()
	lock.Lock()
	room[self] = true
	lock.Unlock()
	for {
		kind, message, err := client.ReadMessage()
		if err != nil {
			break
		}
		tellOthers(self, kind, message)
	}
	lock.Lock()
	delete(room, self)
	lock.Unlock()
	close(self.out)
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("gorilla/websocket 1.5.0,", runtime.Version())
		return
	}
	if len(os.Args) != 3 {
		log.Fatal("usage: gorilla-peer PORT WORKERS | --version")
	}
	workers, err := strconv.Atoi(os.Args[2])
	if err != nil || workers < 1 {
		log.Fatal("the number of workers is not a number above 0")
	}
	runtime.GOMAXPROCS(workers)
	debug.SetGCPercent(400) // as go has it
	http.HandleFunc("/ws/echo", echo)
	http.HandleFunc("/ws/chat", chat)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
