internal import ArgumentParser

/// Process IDs as `pidof` and `pgrep -d,` print them: separated by spaces or commas.
struct ProcessIDs: ExpressibleByArgument {
    let numbers: [Int32]

    init?(argument: String) {
        let words = argument.split { $0 == "," || $0.isWhitespace }
        numbers = words.compactMap { Int32($0) }
        if words.isEmpty || numbers.count < words.count { return nil }
    }
}
