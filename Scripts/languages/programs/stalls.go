// Stalls with a known function and line: stalls SCENARIO ROUNDS TRUTH LEAD. A loop on its own thread waits between the stalls, and LEAD seconds before the
// first. Writes the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall
// one after another.
package main

import (
	"bytes"
	"compress/flate"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const stall = 350 * time.Millisecond

var sink int

//go:noinline
func nap(duration time.Duration) {
	left := syscall.NsecToTimespec(int64(duration))
	syscall.Nanosleep(&left, nil) // @stall sleep main.nap
}

func compute() {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall compute main.compute
		sink++ // @stall compute main.compute
	}
}

func multiply() {
	value := 1
	for round := 0; round < 400000000; round++ { // @stall arithmetic main.multiply
		value = value*31 + round // @stall arithmetic main.multiply
	}
	sink = value
}

func mix(value, round int) int {
	return value*31 + round // @stall inlined main.mix|main.mixAll
}

func mixAll() {
	value := 1
	for round := 0; round < 400000000; round++ { // @stall inlined main.mix|main.mixAll
		value = mix(value, round) // @stall inlined main.mix|main.mixAll
	}
	sink = value
}

func readPipe() {
	var pipe [2]int
	syscall.Pipe(pipe[:])
	go func() {
		time.Sleep(stall)
		syscall.Write(pipe[1], []byte("x"))
	}()
	var buffer [1]byte
	syscall.Read(pipe[0], buffer[:]) // @stall pipe main.readPipe
	syscall.Close(pipe[0])
	syscall.Close(pipe[1])
}

func runCommand() {
	exec.Command("/bin/sleep", strconv.FormatFloat(stall.Seconds(), 'f', 2, 64)).Run() // @stall exec main.runCommand
}

//go:noinline
func descend(depth int) int {
	if depth > 0 {
		return descend(depth-1) + 1
	}
	left := syscall.NsecToTimespec(int64(stall))
	syscall.Nanosleep(&left, nil) // @stall recursion main.descend
	return 0
}

func makeClosure(duration time.Duration) func() {
	return func() {
		left := syscall.NsecToTimespec(int64(duration))
		syscall.Nanosleep(&left, nil) // @stall closure main.makeClosure.func1
	}
}

type shop struct{ items []int }

func (s *shop) price(item int) int {
	if item == 2 {
		left := syscall.NsecToTimespec(int64(stall))
		syscall.Nanosleep(&left, nil) // @stall method main.(*shop).price
	}
	return item
}

func (s *shop) checkout() {
	for item := 0; item < 3; item++ {
		s.items = append(s.items, s.price(item))
	}
}

type seller interface{ sell() }

func (s shop) sell() {
	left := syscall.NsecToTimespec(int64(stall))
	syscall.Nanosleep(&left, nil) // @stall interface main.shop.sell
}

//go:noinline
func largest[Number int | float64](numbers []Number) (found Number) {
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall generic main.largest[...]
		for _, number := range numbers { // @stall generic main.largest[...]
			if number > found { // @stall generic main.largest[...]
				found = number // @stall generic main.largest[...]
			}
		}
	}
	return found
}

func sortSlowly() {
	numbers := []int{3, 1}
	sort.Slice(numbers, func(left, right int) bool {
		pause := syscall.NsecToTimespec(int64(stall))
		syscall.Nanosleep(&pause, nil) // @stall sort-callback main.sortSlowly.func1
		return numbers[left] < numbers[right]
	})
}

func deferred() {
	defer func() {
		left := syscall.NsecToTimespec(int64(stall))
		syscall.Nanosleep(&left, nil) // @stall deferred main.deferred.func1
	}()
	sink++
}

func recovered() {
	defer func() {
		recover()
		left := syscall.NsecToTimespec(int64(stall))
		syscall.Nanosleep(&left, nil) // @stall recovered main.recovered.func1
	}()
	panic("expected")
}

func serialize() {
	values := map[string][]int{}
	for number := 0; number < 1000; number++ {
		values[strconv.Itoa(number)] = []int{number, number + 1}
	}
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall json main.serialize
		json.Marshal(values) // @stall json main.serialize
	}
}

func match() {
	pattern := regexp.MustCompile(`(a|b|ab)*c`)
	text := strings.Repeat("ab", 2000)
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall regex main.match
		pattern.MatchString(text) // @stall regex main.match
	}
}

func hash() {
	data := make([]byte, 1<<20)
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall hash main.hash
		sink += int(sha512.Sum512(data)[0]) // @stall hash main.hash
	}
}

func compress() {
	data := bytes.Repeat([]byte("abcdefg"), 20000)
	end := time.Now().Add(stall)
	for time.Now().Before(end) { // @stall compress main.compress
		var buffer bytes.Buffer
		writer, _ := flate.NewWriter(&buffer, 6) // @stall compress main.compress
		writer.Write(data)                       // @stall compress main.compress
		writer.Close()                           // @stall compress main.compress
	}
}

var stalls = map[string]func(){
	"sleep":         func() { nap(stall) },
	"compute":       compute,
	"arithmetic":    multiply,
	"inlined":       mixAll,
	"pipe":          readPipe,
	"exec":          runCommand,
	"recursion":     func() { descend(40) },
	"closure":       makeClosure(stall),
	"method":        func() { (&shop{}).checkout() },
	"interface":     func() { seller(shop{}).sell() },
	"generic":       func() { largest([]int{1, 2, 3}) },
	"sort-callback": sortSlowly,
	"deferred":      deferred,
	"recovered":     recovered,
	"json":          serialize,
	"regex":         match,
	"hash":          hash,
	"compress":      compress,
}

const (
	rests = 25
	pause = 20 * time.Millisecond
)

// A listening socket, and the loop that waits for clients.
type loop struct {
	events, listener int
	address          syscall.Sockaddr
}

func newLoop() loop {
	listener, _ := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	syscall.Bind(listener, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	syscall.Listen(listener, 8)
	address, _ := syscall.Getsockname(listener)
	events, _ := syscall.EpollCreate1(0)
	syscall.EpollCtl(events, syscall.EPOLL_CTL_ADD, listener, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(listener)})
	return loop{events, listener, address}
}

func (l loop) rest(duration time.Duration) {
	var found [8]syscall.EpollEvent
	for number := 0; number < int(duration/pause); number++ {
		syscall.EpollWait(l.events, found[:], int(pause/time.Millisecond))
	}
}

func monotonic() int64 {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

// Keeps the loop on the main thread, because only the main thread can be named for lagmond.
func init() {
	runtime.LockOSThread()
}

func takesTurn(turn, truth string) bool {
	if turn == "" {
		return true
	}
	err := os.Link(truth, turn)
	if err != nil && !os.IsExist(err) {
		panic(err)
	}
	return err == nil
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	lead, _ := strconv.ParseFloat(os.Args[4], 64)
	truth, _ := os.Create(os.Args[3])
	turn := os.Getenv("TURN")
	waiting := newLoop()
	waiting.rest(time.Duration(lead * float64(time.Second)))
	for round := 0; round < rounds; round++ {
		waiting.rest(rests * pause)
		for !takesTurn(turn, os.Args[3]) {
			waiting.rest(pause)
		}
		// A client waits during the stall.
		client, _ := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		syscall.Connect(client, waiting.address)
		begin := monotonic()
		stalls[os.Args[1]]()
		fmt.Fprintf(truth, "%d %d\n", begin, monotonic())
		if turn != "" {
			os.Remove(turn)
		}
		server, _, _ := syscall.Accept(waiting.listener)
		syscall.Close(server)
		syscall.Close(client)
	}
	waiting.rest(rests * pause)
}
