internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A PHP that sleeps or computes, watched from here.
@Suite(.enabled(if: access("/usr/bin/php8.2", X_OK) == 0, "no PHP 8.2 on this machine"))
struct PHPProcessTests {
    private static let program = """
        <?php
        class Shop {
          public function checkout() {
            return array_map(function ($number) {
              return $this->wait($number);
            }, [1]);
          }

          private function wait($number) {
            echo "ready\\n";
            if (($GLOBALS["argv"][1] ?? "") == "compute") {
              while (true) {
                hash("crc32", "x");
              }
            }
            if (($GLOBALS["argv"][1] ?? "") == "throw") {
              $held = new Held();
              throw new Exception();
            }
            sleep(600);
          }
        }
        class Held {
          public function __destruct() { sleep(600); }
        }
        (new Shop())->checkout();

        """

    private func frames(_ arguments: [String], count: Int) throws -> [String] {
        let process = try InterpretedProcess("/usr/bin/php8.2", Self.program, file: "shop.php", arguments)
        var found: [String] = []
        _ = eventually {
            found = process.described(process.take())
            return found.count { $0.contains("shop.php") } == count
        }
        return found
    }

    @Test func `a thread that sleeps has PHP's frames, among those of C`() throws {
        let found = try frames([], count: 4)
        let own = found.filter { $0 != "C" }
        #expect(
            own == [
                "sleep:0", "Shop::wait (shop.php):20", "Shop::{closure} (shop.php):5", "array_map:0",
                "Shop::checkout (shop.php):4",
                "{main} (shop.php):26",
            ],
            "\(found)"
        )
        // What `array_map` does in C is between the closure and the method.
        let closure = try #require(found.firstIndex { $0.hasPrefix("Shop::{closure}") })
        #expect(found[closure + 1] == "C")
    }

    /// Where it came to is not known then: the object that the throwing function has held is destroyed.
    @Test func `a function that an exception passes has a frame without a line`() throws {
        let found = try frames(["throw"], count: 4)
        #expect(found.contains("Held::__destruct (shop.php):24") && found.contains("Shop::{closure} (shop.php):0"), "\(found)")
    }

    @Test func `so has one that computes`() throws {
        let found = try frames(["compute"], count: 4)
        #expect(found.contains { $0.hasPrefix("Shop::wait (shop.php):1") }, "\(found)")
    }

    /// Where its function has its frame, the one before has left an instruction of its own; this one writes none down.
    private static let silent = """
        <?php
        function price() { return ord(chr(mt_rand(0, 1))); }
        function count_up($number) {
          while (true) {
            $number++;
          }
        }
        price();
        echo "ready\\n";
        price();
        count_up(0);

        """

    @Test func `a function that computes and calls nothing is at the line that runs`() throws {
        let process = try InterpretedProcess("/usr/bin/php8.2", Self.silent, file: "silent.php")
        for _ in 0..<5 {
            var found: [String] = []
            _ = eventually {
                found = process.own(process.take())
                return found.contains("{main} (silent.php):11")
            }
            #expect([4, 5].contains { found == ["count_up (silent.php):\($0)", "{main} (silent.php):11"] }, "\(found)")
        }
    }

    @Test func `generators that have left their turns to another one are between that and the caller`() throws {
        let program = """
            <?php
            function inner() { yield 1; echo "ready\\n"; sleep(600); yield 2; }
            function middle() {
              yield 0;
              yield from inner();
            }
            function outer() { yield from middle(); }
            function top() { foreach (outer() as $number); }
            top();
            """
        let process = try InterpretedProcess("/usr/bin/php8.2", program, file: "turns.php")
        let expected = [
            "inner (turns.php):2", "middle (turns.php):5", "outer (turns.php):7", "top (turns.php):8", "{main} (turns.php):9",
        ]
        var found: [String] = []
        let isFound = eventually {
            found = process.described(process.take())
            return found.filter { $0.contains("turns.php") } == expected
        }
        #expect(isFound, "\(found)")
    }

    /// The functions of the innermost frames are copied before the time is over that looking through all frames takes.
    @Test func `a deep recursion that runs has its innermost frames`() throws {
        let program = """
            <?php
            function work() {
              while (true) { $number = ($number ?? 0) + 1; }
            }
            function down($depth) {
              if ($depth == 0) { echo "ready\n"; work(); }
              down($depth - 1);
            }
            down(20000);
            """
        let process = try InterpretedProcess("/usr/bin/php8.2", program, file: "deep.php")
        for _ in 0..<10 {
            let own = process.own(process.take())
            #expect(
                own.first == "work (deep.php):3" && own.dropFirst().first?.hasPrefix("down (deep.php):") == true,
                "\(own.prefix(3))"
            )
        }
    }
}
