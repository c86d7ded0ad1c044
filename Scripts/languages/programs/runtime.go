// More stalls for stalls.go: goroutines that wait for others, and functions of Go's runtime that run on its own stack.
package main

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"text/template"
	"time"
)

var kept []byte

func receive() {
	done := make(chan int)
	go func() {
		time.Sleep(stall)
		done <- 1
	}()
	<-done // @stall channel main.receive
}

func lock() {
	var mutex sync.Mutex
	mutex.Lock()
	go func() {
		time.Sleep(stall)
		mutex.Unlock()
	}()
	mutex.Lock() // @stall mutex main.lock
}

func doze() {
	time.Sleep(stall) // @stall timer main.doze
}

func awaitCondition() {
	var mutex sync.Mutex
	condition := sync.NewCond(&mutex)
	isDone := false
	go func() {
		time.Sleep(stall)
		mutex.Lock()
		isDone = true
		mutex.Unlock()
		condition.Signal()
	}()
	mutex.Lock()
	for !isDone {
		condition.Wait() // @stall condition main.awaitCondition
	}
	mutex.Unlock()
}

func allocate() {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall allocate main.allocate
		kept = make([]byte, 64<<20) // @stall allocate main.allocate
	}
}

func readOSPipe() {
	from, to, _ := os.Pipe()
	go func() {
		time.Sleep(stall)
		to.Close()
	}()
	io.ReadAll(from) // @stall os-pipe main.readOSPipe
	from.Close()
}

func copyBytes() {
	from, to := make([]byte, 64<<20), make([]byte, 64<<20)
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall copy main.copyBytes
		copy(to, from) // @stall copy main.copyBytes
	}
}

func concatenate() {
	text := ""
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall concatenate main.concatenate
		text += "a few more letters" // @stall concatenate main.concatenate
	}
	sink += len(text)
}

func printNumbers() {
	end := time.Now().Add(stall)
	for number := 0; time.Now().Before(end); number++ { // @stall printf main.printNumbers
		sink += len(fmt.Sprintf("%d of %v", number, []int{number})) // @stall printf main.printNumbers
	}
}

func awaitGroup() {
	var group sync.WaitGroup
	group.Add(1)
	go func() {
		time.Sleep(stall)
		group.Done()
	}()
	group.Wait() // @stall waitgroup main.awaitGroup
}

func choose() {
	never := make(chan int)
	select { // @stall select main.choose
	case <-never: // @stall select main.choose
	case <-time.After(stall): // @stall select main.choose
	}
}

func readLock() {
	var lock sync.RWMutex
	lock.Lock()
	go func() {
		time.Sleep(stall)
		lock.Unlock()
	}()
	lock.RLock() // @stall rwmutex main.readLock
}

func drain() {
	numbers := make(chan int)
	go func() {
		time.Sleep(stall)
		close(numbers)
	}()
	for number := range numbers { // @stall chan-range main.drain
		sink += number
	}
}

func fillMap() {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall map main.fillMap
		numbers := map[int]int{}
		for number := 0; number < 1000000; number++ { // @stall map main.fillMap
			numbers[number] = number // @stall map main.fillMap
		}
	}
}

func collect() {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall collect main.collect
		runtime.GC() // @stall collect main.collect
	}
}

func appendNumbers() {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall append main.appendNumbers
		var numbers []int
		for number := 0; number < 10000000; number++ { // @stall append main.appendNumbers
			numbers = append(numbers, number) // @stall append main.appendNumbers
		}
	}
}

func fetch() {
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	go http.Serve(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(stall) }))
	answer, _ := http.Get("http://" + listener.Addr().String()) // @stall http main.fetch
	answer.Body.Close()
	listener.Close()
}

func encodeGob() {
	numbers := make([]map[string]int, 1000)
	for index := range numbers {
		numbers[index] = map[string]int{"index": index}
	}
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall gob main.encodeGob
		gob.NewEncoder(&bytes.Buffer{}).Encode(numbers) // @stall gob main.encodeGob
	}
}

func render() {
	page := template.Must(template.New("page").Parse(`{{range .}}<li>{{.}}</li>{{end}}`))
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall template main.render
		page.Execute(io.Discard, make([]int, 1000)) // @stall template main.render
	}
}

func init() {
	for name, stall := range map[string]func(){
		"channel": receive, "mutex": lock, "timer": doze, "condition": awaitCondition, "allocate": allocate,
		"os-pipe": readOSPipe, "copy": copyBytes, "concatenate": concatenate, "printf": printNumbers,
		"waitgroup": awaitGroup, "select": choose, "rwmutex": readLock, "chan-range": drain, "map": fillMap,
		"collect": collect, "append": appendNumbers, "http": fetch, "gob": encodeGob, "template": render,
	} {
		stalls[name] = stall
	}
}
