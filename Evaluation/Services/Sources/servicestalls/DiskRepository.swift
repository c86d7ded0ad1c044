internal import Foundation

/// A repository behind a protocol, whose reads wait for the disk.
protocol Repository: Sendable {
    func find(_ number: Int) async throws(NotFound) -> String
}

struct NotFound: Error {}

struct DiskRepository: Repository {
    let milliseconds: Int

    @inline(never) func find(_ number: Int) async throws(NotFound) -> String {
        await Task.yield()
        guard let text = read(number) else { throw NotFound() }
        return text
    }

    @inline(never) func read(_ number: Int) -> String? {
        StalledTime.begin()
        defer { StalledTime.end() }
        let (deadline, path) = (Deadline(milliseconds), ScratchFolder.path + "/repository-\(number)")
        let file = open(path, O_CREAT | O_RDWR | O_TRUNC, 0o600)
        var bytes = 0
        while !deadline.isOver {
            bytes += write(file, "x", 1)
            fsync(file)
        }
        close(file)
        unlink(path)
        return "\(bytes)"
    }
}

struct PageService<Pages: Repository> {
    let repository: Pages

    @inline(never) func page(_ number: Int) async -> String { (try? await repository.find(number)) ?? "none" }
}

enum Shop {
    static let hooks: [@Sendable (Int) async -> Int] = [
        { milliseconds in
            await Task.yield()
            return Stall.compute(for: milliseconds)
        }
    ]

    @inline(never) static func show(_ repository: any Repository) async -> String {
        let text = try? await repository.find(3)
        return (text ?? "") + "!"
    }

    @inline(never) static func descend(_ depth: Int, _ milliseconds: Int) async -> Int {
        await Task.yield()
        if depth == 0 { return Stall.compute(for: milliseconds) }
        return await descend(depth - 1, milliseconds) &+ depth
    }

    @inline(never) static func runHooks(_ milliseconds: Int) async -> Int {
        var sum = 0
        for hook in hooks { sum &+= await hook(milliseconds) }
        return sum
    }

    @inline(never) static func retry<Value>(_ times: Int, _ body: () async throws -> Value) async rethrows -> Value {
        for _ in 1..<times {
            do { return try await body() } catch { await Task.yield() }
        }
        return try await body()
    }

    @inline(never) static func order(_ milliseconds: Int) async -> Int {
        await retry(3, attempt(milliseconds))
    }

    /// Created here, so that the compiler does not inline it into its caller.
    @inline(never) static func attempt(_ milliseconds: Int) -> @Sendable () async -> Int {
        {
            await Task.yield()
            return Stall.compute(for: milliseconds)
        }
    }
}
