internal import Dispatch
internal import Foundation

// System calls in which the main thread waits: for time, files, pipes, processes.

extension Corpus {
    static let descriptorWaits: [Scenario] = [
        Scenario("thread-sleep", "Thread.sleep", ["syscall"], ["Pauses.nap"]) { Pauses.nap(0.38) },
        Scenario("nap-short", "a sleep slightly longer than the threshold", ["syscall"], ["Pauses.nap"]) { Pauses.nap(0.185) },
        // Beside computing processes, each wait for a processor is longer than that for the disk.
        Scenario("fsync", "blocks that are written to the disk", ["syscall", "runqueue"], ["Export.write"]) {
            Export.write(ScratchFolder.path + "/write", for: 620)
        },
        Scenario("defer-fsync", "fsync in a defer", ["syscall", "runqueue"], ["Export.writeAtEnd"]) {
            Export.writeAtEnd(ScratchFolder.path + "/defer", for: 420)
        },
        Scenario("flock", "a file that another descriptor has locked", ["syscall", "lock"], ["Export.lock"]) {
            Export.lock(ScratchFolder.path + "/lock", for: 450)
        },
        Scenario("pipe-read", "FileHandle reads a pipe with late data", ["syscall"], ["Pipes.readAll"]) {
            Pipes.readAll(440)
        },
        Scenario("pipe-write", "a full pipe", ["syscall"], ["Pipes.fill"]) { Pipes.fill(470) },
        Scenario("process-output", "output of a process", ["syscall"], ["Processes.readOutput"]) { try Processes.readOutput() },
        Scenario("process-wait", "waiting for a Process", ["syscall", "lock"], ["Processes.run"]) { try Processes.run() },
        Scenario("spawn-waitpid", "waiting for a process with waitpid", ["syscall"], ["Processes.spawn"]) { Processes.spawn() },
    ]
}

private enum Pauses {
    @inline(never) static func nap(_ seconds: Double) -> Int {
        Thread.sleep(forTimeInterval: seconds)
        return 1
    }
}

private enum Export {
    @inline(never) static func write(_ path: String, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        let file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0o600)
        let block = [UInt8](repeating: 7, count: 65_536)
        var bytes = 0
        while !deadline.isOver {
            bytes += Foundation.write(file, block, block.count)
            fsync(file)
        }
        close(file)
        unlink(path)
        return bytes
    }

    @inline(never) static func writeAtEnd(_ path: String, for milliseconds: Int) -> Int {
        let deadline = Deadline(milliseconds)
        let file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0o600)
        defer {
            while !deadline.isOver {
                _ = Foundation.write(file, "0123456789", 10)
                fsync(file)
            }
            close(file)
            unlink(path)
        }
        return Int(file)
    }

    @inline(never) static func lock(_ path: String, for milliseconds: Int) -> Int {
        let file = open(path, O_CREAT | O_RDWR, 0o600)
        let taken = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            let other = open(path, O_RDWR)
            flock(other, LOCK_EX)
            taken.signal()
            usleep(UInt32(milliseconds) * 1_000)
            flock(other, LOCK_UN)
            close(other)
        }
        taken.wait()
        defer { unlink(path) }
        return Int(flock(file, LOCK_EX))
    }
}

private enum Pipes {
    @inline(never) static func readAll(_ milliseconds: Int) -> Int {
        let pipe = Pipe()
        let writer = pipe.fileHandleForWriting
        Thread.detachNewThread {
            usleep(UInt32(milliseconds) * 1_000)
            try? writer.write(contentsOf: Data([1, 2]))
            try? writer.close()
        }
        return pipe.fileHandleForReading.readDataToEndOfFile().count
    }

    @inline(never) static func fill(_ milliseconds: Int) -> Int {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return 0 }
        let reader = ends[0]
        Thread.detachNewThread {
            usleep(UInt32(milliseconds) * 1_000)
            var buffer = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<40 where read(reader, &buffer, buffer.count) <= 0 { break }
        }
        let block = [UInt8](repeating: 1, count: 200_000)
        return write(ends[1], block, block.count)
    }
}

private enum Processes {
    @inline(never) static func readOutput() throws -> Int {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "sleep 0.42; echo x"]
        process.standardOutput = output
        try process.run()
        return output.fileHandleForReading.readDataToEndOfFile().count
    }

    @inline(never) static func run() throws -> Int {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sleep")
        process.arguments = ["0.5"]
        try process.run()
        process.waitUntilExit()
        return Int(process.terminationStatus)
    }

    @inline(never) static func spawn() -> Int {
        var child: pid_t = 0
        var words: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("0.45"), nil]
        posix_spawn(&child, "/bin/sleep", nil, nil, &words, environ)
        var status: Int32 = 0
        waitpid(child, &status, 0)
        return Int(status)
    }
}
