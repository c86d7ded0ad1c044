import Dispatch

/// Standard input, line by line.
public enum Input {
    /// Read on a queue of its own: a thread that waits for input is none of the concurrency pool's.
    public static func lines() -> AsyncStream<String> {
        AsyncStream { lines in
            DispatchQueue(label: "input").async {
                while let line = readLine() { lines.yield(line) }
                lines.finish()
            }
        }
    }
}
