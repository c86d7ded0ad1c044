internal import CLibraryStalls
internal import Dispatch
internal import Foundation
internal import FoundationNetworking

// Foundation waits on the program's behalf.

extension Corpus {
    static let foundationWaits: [Scenario] = [
        Scenario(
            "foundation-url-session",
            ["lock"],
            ["fetchStatusPage"],
            "waiting for a URLSession task with a semaphore",
            preparing: {
                let server = try SilentHTTP()
                return { end in
                    server.answer(at: end)
                    return fetchStatusPage(server.address)
                }
            }
        ),
        Scenario("foundation-process", ["syscall"], ["runConverter"], "Process.run and waitUntilExit", runConverter),
        Scenario(
            "foundation-host",
            ["syscall"],
            ["resolvePrinter"],
            "Host's addresses with a name server that never responds",
            preparing: {
                try prepare("getaddrinfo-silent")
                return resolvePrinter
            }
        ),
        Scenario(
            "foundation-enumerator",
            ["cpu", "syscall"],
            ["countDocuments"],
            "FileManager walks over a folder",
            countDocuments
        ),
        Scenario(
            "foundation-file-handle",
            ["syscall"],
            ["readMessage"],
            "FileHandle reads a pipe to which data is written late",
            preparing: {
                let pipe = Pipe()
                return { end in
                    try onThread("writer") {
                        rest_until(end)
                        pipe.fileHandleForWriting.write(Data("x".utf8))
                    }
                    return readMessage(pipe.fileHandleForReading)
                }
            }
        ),
        Scenario(
            "foundation-lock",
            ["lock"],
            ["readThumbnail"],
            owner: "thumbnailer",
            "an NSLock that another thread holds",
            preparing: {
                let lock = NSLock()
                return { end in
                    let taken = DispatchSemaphore(value: 0)
                    try onThread("thumbnailer") {
                        lock.lock()
                        taken.signal()
                        rest_until(end)
                        lock.unlock()
                    }
                    taken.wait()
                    return readThumbnail(lock)
                }
            }
        ),
        Scenario(
            "foundation-condition",
            ["lock"],
            ["awaitLayout"],
            "an NSCondition that is signalled late",
            preparing: {
                let condition = NSCondition()
                return { end in
                    try onThread("layout") {
                        rest_until(end)
                        condition.lock()
                        condition.broadcast()
                        condition.unlock()
                    }
                    return awaitLayout(condition)
                }
            }
        ),
    ]
}

@inline(never)
func fetchStatusPage(_ address: String) -> Int {
    guard let url = URL(string: address) else { return -1 }
    let done = DispatchSemaphore(value: 0)
    URLSession.shared.dataTask(with: url) { _, _, _ in done.signal() }.resume()
    done.wait()
    return 1
}

func runConverter(until end: moment) throws -> Int {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sleep")
    process.arguments = ["\(Double(end - moment_now()) / 1e9)"]
    try process.run()
    process.waitUntilExit()
    return Int(process.terminationStatus)
}

func resolvePrinter(until end: moment) -> Int { Host(name: "printer.example.").addresses.count }

func countDocuments(until end: moment) -> Int {
    var count = 0
    while moment_now() < end {
        guard let files = FileManager.default.enumerator(atPath: "/usr/share/doc") else { return -1 }
        while moment_now() < end, let file = files.nextObject() as? String { count += file.utf8.count }
    }
    return count
}

@inline(never)
func readMessage(_ file: FileHandle) -> Int { file.availableData.count }

@inline(never)
func readThumbnail(_ lock: NSLock) -> Int {
    lock.lock()
    lock.unlock()
    return 1
}

@inline(never)
func awaitLayout(_ condition: NSCondition) -> Int {
    condition.lock()
    condition.wait()
    condition.unlock()
    return 1
}
