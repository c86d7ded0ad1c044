internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A stalling node program, watched from here.
private enum NodeProcess {
    static let path = (["/usr/bin/node", "/usr/local/bin/node"] as [String]).first { access($0, X_OK) == 0 }

    static let program = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        class Shop {
          checkout() {
            return [1].map((number) => wait(number.valueOf()));
          }
        }
        function wait(number) {
          if (number === 1 && process.argv[2] === 'sleep') {
            Atomics.wait(cell, 0, 0, 600000);
          }
          return number;
        }
        function spin() {
          const start = Date.now();
          while (Date.now() - start < 600000);
        }
        function leaf(isLast) {
          return isLast ? Atomics.wait(cell, 0, 0, 600000) : 1;
        }
        function branch(isLast) {
          return leaf(isLast);
        }
        function mix(value, round) {
          return Math.imul(value ^ round, 31);
        }
        function total(first) {
          let value = first;
          for (let turn = 0; turn < 1e6; turn++) {
            for (let round = 0; round < 1e6; round++) {
              value = mix(value, round);
            }
          }
          return value;
        }
        function piece(text, round) {
          return text + 'abcdefgh'[round & 7] + round;
        }
        function texts() {
          let text = '';
          for (let round = 0; round < 1e12; round++) {
            text = piece(text.length > 50 ? '' : text, round);
          }
          return text;
        }
        setTimeout(function run() {
          console.log('ready');
          if (process.argv[2] === 'spin') spin();
          if (process.argv[2] === 'loop') total(1);
          if (process.argv[2] === 'texts') texts(); else if (process.argv[2] === 'tree') tree();
          if (process.argv[2] === 'hot') {
            for (let round = 0; round < 300000; round++) branch(false);
            branch(true);
          }
          new Shop().checkout();
        }, 10);
        function count(node) {
          if (!node) return 1;
          return count(node.left) + count(node.right);
        }
        function build(depth) { return depth ? { left: build(depth - 1), right: build(depth - 1) } : null; }
        function tree() { for (const root = build(14); ;) count(root); }
        """

    /// Each recursive call keeps a value, so that the stack becomes larger than the part that is copied.
    static let recursion = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        function down(count) {
          if (count) return down(count - 1) + down.length;
          if (process.argv[2] === 'sleep') Atomics.wait(cell, 0, 0, 600000);
          while (true);
        }
        function serve() {
          down(3000);
        }
        setTimeout(function run() {
          console.log('ready');
          serve();
        }, 10);
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(path ?? "", program, file: "shop.js", [mode], ownFile: "/shop.js")
    }
}

@Suite(.enabled(if: NodeProcess.path != nil, "no node on this machine"))
struct NodeProcessTests {
    static let checkout = ["wait (shop.js):9", "<anonymous> (shop.js):4", "checkout (shop.js):4", "run (shop.js):54"]
    static let hot = ["leaf (shop.js):18", "branch (shop.js):21", "run (shop.js):52"]

    @Test func `a function without a name is distinguished from others by the names that it uses`() throws {
        let process = try NodeProcess.start("sleep")
        #expect(eventually { process.variants()["<anonymous>"] == "valueOf" }, "\(process.variants())")
    }

    private static let computed = """
        const cell = new Int32Array(new SharedArrayBuffer(4));
        const key = 'pay' + process.argv[2];
        class Shop {
          static async [key + 's'](shop) { return [...shop]; }
          *[Symbol.iterator]() { yield this.orders[key](); }
          orders = {
            count: 1, [key]() { return this['of ' + key]; },
            get ['of ' + key] () { console.log('ready'); Atomics.wait(cell, 0, 0, 600000); }
          };
        }
        setTimeout(function run() { Shop[key + 's'](new Shop()); }, 10);
        """

    /// The expression as written: its value is a property of each closure.
    @Test func `a method with a computed name is reported with the expression of the name`() throws {
        let process = try InterpretedProcess(try #require(NodeProcess.path), Self.computed, file: "shop.js", ownFile: "/shop.js")
        let names = ["['of ' + key]:8", "[key]:7", "[Symbol.iterator]:5", "[key + 's']:4", "run:11"]
        let expected = names.map { $0.replacing(":", with: " (shop.js):") }
        var found: [String] = []
        let isThere = eventually {
            found = process.own(process.take())
            return found == expected
        }
        #expect(isThere, "\(found)")
    }

    /// In the interpreter, and in compiled code with an inlined function.
    @Test(arguments: [("sleep", NodeProcessTests.checkout), ("hot", NodeProcessTests.hot)])
    func `a sleeping thread has JavaScript frames with line numbers`(mode: String, expected: [String]) throws {
        let process = try NodeProcess.start(mode)
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .passive && found == expected
        }
        #expect(isFound, "\(found)")
    }

    #if arch(x86_64)
        /// The loop contains no call, and its body is not on the line of the loop.
        @Test func `a loop in optimised code is reported at the lines that run`() throws {
            let process = try NodeProcess.start("loop")
            #expect(eventually { process.own(process.take()) == ["total (shop.js):30", "run (shop.js):48"] })
            var found: [[String]: Int] = [:]
            for _ in 0..<100 { found[process.own(process.take()), default: 0] += 1 }
            let right =
                [28, 29, 30].map { ["total (shop.js):\($0)", "run (shop.js):48"] }
                + [["mix (shop.js):24", "total (shop.js):30", "run (shop.js):48"]]
            let others = found.filter { !right.contains($0.key) }
            // A few have no line.
            #expect(others.values.reduce(0, +) < 40, "\(found)")
            #expect(others.keys.allSatisfy { $0.allSatisfy { $0.hasSuffix(":0") || $0 == "run (shop.js):48" } }, "\(found)")
        }

        /// There is no loop, and all calls are on one line.
        @Test func `a recursion in optimised code is reported at the lines that run`() throws {
            let process = try NodeProcess.start("tree")
            var found: [String: Int] = [:]
            _ = eventually { process.own(process.take()).contains("count (shop.js):58") }
            for _ in 0..<100 { found[process.own(process.take()).first ?? "", default: 0] += 1 }
            let lines = found.filter { ["count (shop.js):56", "count (shop.js):57", "count (shop.js):58"].contains($0.key) }
            #expect(lines.values.reduce(0, +) > 60 && lines.count > 1, "\(found)")
            let callers = ["run (shop.js):", "tree (shop.js):"]
            let others = found.keys.filter { lines[$0] == nil && !$0.hasSuffix(":0") }
            #expect(others.allSatisfy { other in callers.contains { other.hasPrefix($0) } }, "\(found)")
        }

        /// String concatenation is a builtin that initially has no frame of its own. The inlined function calls it.
        @Test func `a caller of a builtin without a frame has its line number`() throws {
            let process = try NodeProcess.start("texts")
            #expect(eventually { process.own(process.take()).first == "piece (shop.js):36" })
            var found: [String: Int] = [:]
            for _ in 0..<150 { found[process.own(process.take()).first ?? "", default: 0] += 1 }
            // Code between the calls belongs to the loop.
            let withoutLine = found.filter { $0.key.hasSuffix(":0") }.values.reduce(0, +)
            #expect(found["piece (shop.js):36"] ?? 0 > 75 && withoutLine < 10, "\(found)")
        }
    #endif

    @Test func `a running thread has JavaScript frames with line numbers`() throws {
        let process = try NodeProcess.start("spin")
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .ptrace && found.last == "run (shop.js):47"
                && found.first?.hasPrefix("spin (shop.js)") == true
        }
        #expect(isFound, "\(found)")
        #expect(found.count == 2 && ["spin (shop.js):15", "spin (shop.js):0"].contains(found[0]), "\(found)")
    }

    @Test(arguments: ["sleep", "spin"])
    func `a deep recursion is reported with its innermost functions and its outermost callers`(
        mode: String
    ) throws {
        let process = try InterpretedProcess(
            NodeProcess.path ?? "",
            NodeProcess.recursion,
            file: "deep.js",
            [mode],
            ownFile: "/deep.js"
        )
        var found: [String] = []
        let isFound = eventually {
            found = process.own(process.take())
            return found.suffix(2) == ["serve (deep.js):8", "run (deep.js):12"]
        }
        #expect(isFound && found.first?.hasPrefix("down (deep.js):") == true && found.count > 150, "\(found)")
    }
}
