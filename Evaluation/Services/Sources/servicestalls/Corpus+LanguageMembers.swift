// Members of types that are used like language syntax: properties, operators, calls, extensions.

extension Corpus {
    static let languageMembers: [Scenario] = [
        Scenario(
            "did-set",
            "an observer of a property computes",
            ["cpu"],
            ["Theme.derive"],
            callers: ["Theme.seed.didset", "Theme.seed.setter"]
        ) {
            let theme = Theme()
            theme.seed = 4
            return Int(theme.palette[5])
        },
        Scenario(
            "property-wrapper",
            "the setter of a wrapper computes",
            ["cpu"],
            ["Clamped.limit"],
            callers: ["Clamped.wrappedValue.setter", "Volume.level.setter", "Volume.raise"]
        ) {
            let volume = Volume()
            volume.raise()
            return volume.level
        },
        Scenario("subscript", "a subscript computes", ["cpu"], ["Grid.subscript.getter"]) {
            Int(Grid(cells: (0..<3_000).map(Double.init), deadline: Deadline(360))[7])
        },
        Scenario(
            "dynamic-member",
            "a dynamic member sleeps",
            ["syscall"],
            ["Settings.find"],
            callers: ["Settings.subscript.getter"]
        ) {
            Settings(milliseconds: 400).theme
        },
        Scenario("call-as-function", "a value that is called computes", ["cpu"], ["Discount.callAsFunction"]) {
            Int(Discount(milliseconds: 370)(9))
        },
        Scenario("operator", "an operator of the program", ["cpu"], ["BigNumber.*"]) {
            let number = BigNumber(digits: (1..<200).map(UInt32.init), milliseconds: 410)
            return (number * number).digits.count
        },
        Scenario(
            "key-path",
            "a computed property, read by its key path",
            ["cpu"],
            ["Ledger.balance.getter"],
            callers: ["Statements.totals"]
        ) {
            Statements.totals([Ledger(entries: Array(0..<4_000), deadline: Deadline(480))]).count
        },
        Scenario("string-extension", "a method that the program adds to String", ["cpu"], ["String.slug"]) {
            sampleText.slug(for: 380).count
        },
        Scenario("array-extension", "a method added to arrays of numbers", ["cpu"], ["Array.median"]) {
            Int((0..<20_000).map { _ in Double.random(in: 0..<1) }.median(for: 440))
        },
        Scenario("constrained-extension", "a generic method added to sequences", ["cpu"], ["Sequence.total"]) {
            Array(0..<3_000).total(until: Deadline(390))
        },
    ]
}

private final class Theme {
    private(set) var palette: [UInt32] = []
    var seed = 0 { didSet { palette = Theme.derive(seed) } }

    @inline(never) static func derive(_ seed: Int) -> [UInt32] {
        let deadline = Deadline(380)
        var palette = [UInt32](repeating: UInt32(seed), count: 4_096)
        while !deadline.isOver {
            for index in 1..<palette.count { palette[index] = palette[index] &* 1_664_525 &+ palette[index - 1] }
        }
        return palette
    }
}

@propertyWrapper private struct Clamped {
    private var value = 0
    var wrappedValue: Int {
        get { value }
        set { value = Clamped.limit(newValue) }
    }

    @inline(never) static func limit(_ number: Int) -> Int {
        let deadline = Deadline(370)
        var value = number
        while !deadline.isOver { for step in 0..<3_000 { value = (value &* 31 &+ step) % 65_521 } }
        return value
    }
}

private final class Volume {
    @Clamped var level: Int
    @inline(never) func raise() { level = 11 }
}

private struct Grid {
    let cells: [Double]
    let deadline: Deadline
    subscript(row: Int) -> Double {
        @inline(never) get {
            var sum = 0.0
            while !deadline.isOver { for cell in cells { sum += (cell * Double(row)).squareRoot() } }
            return sum
        }
    }
}

@dynamicMemberLookup private struct Settings {
    let milliseconds: Int
    subscript(dynamicMember name: String) -> Int { Settings.find(name, milliseconds) }
    @inline(never) static func find(_ name: String, _ milliseconds: Int) -> Int {
        sleep(milliseconds: milliseconds)
        return name.count + 1
    }
}

private struct Discount {
    let milliseconds: Int
    @inline(never) func callAsFunction(_ price: Double) -> Double {
        let deadline = Deadline(milliseconds)
        var price = price
        while !deadline.isOver { for _ in 0..<2_000 { price = (price * 1.0001).truncatingRemainder(dividingBy: 1_000) } }
        return price
    }
}

private struct BigNumber {
    let digits: [UInt32]
    let milliseconds: Int
    @inline(never) static func * (one: BigNumber, other: BigNumber) -> BigNumber {
        let deadline = Deadline(one.milliseconds)
        var product = [UInt32](repeating: 0, count: one.digits.count + other.digits.count)
        while !deadline.isOver {
            for row in one.digits.indices {
                var carry: UInt64 = 0
                for column in other.digits.indices {
                    let part = UInt64(one.digits[row]) * UInt64(other.digits[column]) + UInt64(product[row + column]) + carry
                    product[row + column] = UInt32(truncatingIfNeeded: part)
                    carry = part >> 32
                }
            }
        }
        return BigNumber(digits: product, milliseconds: one.milliseconds)
    }
}

private struct Ledger {
    let entries: [Int]
    let deadline: Deadline
    var balance: Int {
        var sum = 0
        while !deadline.isOver { for entry in entries { sum = (sum &+ entry) % 1_000_003 } }
        return sum
    }
}

private enum Statements {
    @inline(never) static func totals(_ ledgers: [Ledger]) -> [Int] { ledgers.map(\.balance) }
}

extension String {
    @inline(never) fileprivate func slug(for milliseconds: Int) -> String {
        let deadline = Deadline(milliseconds)
        var slug = ""
        while !deadline.isOver { slug = split(separator: " ").map { $0.lowercased().filter(\.isLetter) }.joined(separator: "-") }
        return slug
    }
}

extension Array where Element == Double {
    @inline(never) fileprivate func median(for milliseconds: Int) -> Double {
        let deadline = Deadline(milliseconds)
        var median = 0.0
        while !deadline.isOver { median = sorted()[count / 2] }
        return median
    }
}

extension Sequence where Element: Numeric {
    @inline(never) fileprivate func total(until deadline: Deadline) -> Element {
        var sum: Element = 0
        while !deadline.isOver { for element in self { sum += element } }
        return sum
    }
}
