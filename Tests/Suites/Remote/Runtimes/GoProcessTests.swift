internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A Go program whose main goroutine stays on the main thread, watched from here.
@Suite(.enabled(if: access("/usr/bin/go", X_OK) == 0, "no Go on this machine"))
struct GoProcessTests {
    /// The script compiles the program and then executes it.
    private static let script = """
        cd "$(dirname "$0")"
        cat > shop.go <<'EOF'
        package main

        import (
        	"os"
        	"runtime"
        	"syscall"
        )

        func init() { runtime.LockOSThread() }

        //go:noinline
        func price(answers chan int) int {
        	return <-answers
        }

        func main() {
        	os.Stdout.WriteString("ready\\n")
        	if os.Args[1] == "asleep" {
        		syscall.Pause()
        	}
        	for count := 0; os.Args[1] == "computing"; count++ {
        	}
        	answers := make(chan int)
        	go func() { syscall.Pause(); answers <- 1 }()
        	price(answers)
        }
        EOF
        GO111MODULE=off GOCACHE="$PWD/cache" go build -o shop shop.go && exec ./shop "$1"
        """

    private func frames(_ argument: String, until last: String) throws -> [String] {
        let process = try InterpretedProcess("/bin/sh", Self.script, file: "shop.sh", [argument])
        var found: [String] = []
        _ = eventually {
            found = process.described(process.take())
            return found.contains { $0.hasPrefix(last) }
        }
        return found
    }

    @Test func `a thread that sleeps in a system call has Go frames`() throws {
        let found = try frames("asleep", until: "main.main")
        #expect(found.contains("main.main:19"), "\(found)")
    }

    @Test(arguments: ["asleep", "computing", "parked"]) func `the number of the running goroutine is reported`(state: String)
        throws
    {
        let process = try InterpretedProcess("/bin/sh", Self.script, file: "shop.sh", [state])
        // By then Go has preempted the computing goroutine.
        usleep(50_000)
        var number: UInt32?
        let isFound = eventually {
            let outcome = process.take()
            number = process.capture.task?.pointee.number
            return outcome.stored > 0 && number != nil
        }
        #expect(isFound && number == 1, "\(String(describing: number))")
    }

    /// Its thread sleeps on the thread's own stack, not on that of the goroutine.
    @Test func `frames of a parked goroutine follow the frames of its thread`() throws {
        let found = try frames("parked", until: "main.price")
        let place = try #require(found.firstIndex(of: "main.price:13"), "\(found)")
        #expect(
            found[place + 1] == "main.main:25" && found[..<place].contains { $0.hasPrefix("runtime.stoplockedm") },
            "\(found)"
        )
        #expect(found.count { $0.hasPrefix("main.") } == 2, "\(found)")
    }

    /// The program first sleeps in C, then computes in C.
    private static let callingC = """
        cd "$(dirname "$0")"
        cat > sensor.go <<'EOF'
        package main

        /*
        #include <unistd.h>
        static void wait_device(void) { char end; if (write(1, "ready\\n", 6) == 6) while (read(0, &end, 1) == 0) {} }
        static void add_blocks(volatile unsigned long *sum) { for (;;) ++*sum; }
        */
        import "C"

        import "runtime"

        func init() { runtime.LockOSThread() }

        //go:noinline
        func readSensor() {
        	C.wait_device()
        }

        //go:noinline
        func checksum(sum *C.ulong) {
        	C.add_blocks(sum)
        }

        func main() {
        	var sum C.ulong
        	readSensor()
        	checksum(&sum)
        }
        EOF
        GO111MODULE=off CGO_ENABLED=1 GOCACHE="$PWD/cache" go build -o sensor sensor.go && exec ./sensor
        """

    @Test(.enabled(if: access("/usr/bin/gcc", X_OK) == 0, "no C compiler on this machine"))
    func `a thread in C code has the frames of the goroutine that called it`() throws {
        let process = try InterpretedProcess("/bin/sh", Self.callingC, file: "sensor.sh")
        func expect(_ called: [String]) throws {
            var (found, number): ([String], UInt32?) = ([], nil)
            var outcome = process.take()
            _ = eventually {
                outcome = process.take()
                found = process.described(outcome)
                number = process.capture.task?.pointee.number
                return called.allSatisfy(found.contains)
            }
            let place = try #require(found.firstIndex { $0.hasPrefix("runtime.asmcgocall:") }, "\(found)")
            #expect(place > 0 && found[..<place].allSatisfy { $0 == "C" }, "\(found)")
            #expect(found[place...].dropFirst().first?.hasPrefix("runtime.cgocall:") == true, "\(found)")
            #expect(found.filter { $0.hasPrefix("main.") && !$0.hasPrefix("main._Cfunc_") } == called, "\(found)")
            #expect(number == 1)
            // Generated by cgo: not the program's own.
            let generated = process.names(outcome).filter { $0.symbol.hasPrefix("main._Cfunc_") }
            #expect(!generated.isEmpty && generated.allSatisfy { $0.isLibrary == true })
        }
        try expect(["main.readSensor:16", "main.main:26"])
        try process.goOn()
        try expect(["main.checksum:21", "main.main:27"])
    }
}
