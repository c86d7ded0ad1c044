internal import Glibc
internal import LagMonitor
internal import StallFixtures

// The main thread waits for files and operations on them.

extension Corpus {
    static let files: [Scenario] = [
        Scenario(
            "fsync",
            [.syscall],
            ["saveJournal"],
            "many small writes to a real file, each with fsync",
            making: {
                let file = try ScratchFile()
                file.remove()
                return { saveJournal(file.descriptor, until: $0) }
            }
        ).with {
            $0.needsOwnProcessor = true
            $0.isStallAsIntended = { $0.isMostlyBlocked }
        },
        Scenario(
            "read-file",
            [.syscall],
            ["loadAsset"],
            "a file that is read from the disk in small pieces",
            making: {
                let file = try ScratchFile(bytes: assetBytes)
                defer { file.remove() }
                // Not through the page cache, because the kernel would read ahead.
                let descriptor = corpus_open_direct(file.path)
                guard descriptor >= 0 else { throw Unavailable("open with O_DIRECT in /var/tmp", errno: -descriptor) }
                let buffer = WorkMemory.touched()
                return { loadAsset(descriptor, into: buffer, until: $0) }
            }
        ).with {
            $0.needsOwnProcessor = true
            $0.isStallAsIntended = { $0.isMostlyBlocked }
        },
        Scenario(
            "write-full-pipe",
            [.syscall],
            ["sendReport"],
            "a write to a full pipe that is read late",
            making: {
                let pipe = try Pipe()
                _ = fcntl(pipe.write, F_SETFL, O_NONBLOCK)
                while write(pipe.write, "x", 1) == 1 {}
                _ = fcntl(pipe.write, F_SETFL, 0)
                return { end in
                    try helper("reader") {
                        rest(until: end)
                        var buffer = [UInt8](repeating: 0, count: 1 << 20)
                        _ = read(pipe.read, &buffer, buffer.count)
                    }
                    return sendReport(pipe.write)
                }
            }
        ),
        Scenario(
            "open-fifo",
            [.syscall],
            ["openFeed"],
            "opening a named pipe that has no writer yet",
            making: {
                let path = TemporaryPaths.newPath()
                guard mkfifo(path, 0o600) == 0 else { throw Unavailable("mkfifo", errno: errno) }
                return { end in
                    try helper("writer") {
                        rest(until: end)
                        _ = open(path, O_WRONLY | O_CLOEXEC)
                        unlink(path)
                    }
                    return openFeed(path)
                }
            }
        ),
        Scenario(
            "flock",
            [.syscall, .lock],
            ["lockDatabase"],
            "flock on a file that another process has locked: its owner is not a thread of this process",
            making: {
                let file = try ScratchFile()
                let holder = try ChildProcess(["hold", "--path", file.path], capturesOutput: true, hasInput: true)
                let said = holder.readLine()
                file.remove()
                guard said == "held" else { throw Unavailable("flock in another process") }
                return { end in
                    try helper("timer") {
                        rest(until: end)
                        holder.endInput()
                    }
                    return lockDatabase(file)
                }
            }
        ),
        Scenario(
            "dlopen",
            [.syscall],
            ["corpus_plugin_set_up"],
            "a library whose constructor sleeps, under the loader's lock",
            making: {
                let path = try SleepyLibrary.build()
                return { _ in loadPlugin(path) }
            }
        ),
    ]

    private static let assetBytes = 16 << 20
}

@inline(never)
func loadAsset(_ descriptor: Int32, into buffer: WorkMemory, until end: MonotonicTime) -> Int {
    var total = 0
    while MonotonicTime.now < end {
        let count = read(descriptor, buffer.start, 4096)
        if count <= 0 { lseek(descriptor, 0, SEEK_SET) }
        total += count
    }
    return total
}

@inline(never)
func saveJournal(_ descriptor: Int32, until end: MonotonicTime) -> Int {
    let entry = [UInt8](repeating: 0x41, count: 4096)
    var offset = 0
    while MonotonicTime.now < end {
        pwrite(descriptor, entry, entry.count, offset)
        fsync(descriptor)
        offset += entry.count
    }
    return offset
}

@inline(never)
func sendReport(_ descriptor: Int32) -> Int {
    let report = [UInt8](repeating: 0x42, count: 4096)
    return write(descriptor, report, report.count) + report.count
}

@inline(never)
func openFeed(_ path: String) -> Int {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    return Int(descriptor) + Int(close(descriptor))
}

@inline(never)
func lockDatabase(_ file: ScratchFile) -> Int {
    let code = flock(file.descriptor, LOCK_EX)
    return Int(code) + Int(flock(file.descriptor, LOCK_UN))
}

@inline(never)
func loadPlugin(_ path: String) -> Int {
    let handle = dlopen(path, RTLD_NOW)
    return handle == nil ? 0 : 1
}
