internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A PHP program that sleeps or computes, watched from here.
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

    @Test func `a sleeping thread has PHP frames between the C frames`() throws {
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
        // The C frames of `array_map` are between the closure and the method.
        let closure = try #require(found.firstIndex { $0.hasPrefix("Shop::{closure}") })
        #expect(found[closure + 1] == "C")
    }

    /// The position in the function is then unknown. The object held by the throwing function is being destroyed.
    @Test func `a function that an exception passes through has a frame without a line`() throws {
        let found = try frames(["throw"], count: 4)
        #expect(found.contains("Held::__destruct (shop.php):24") && found.contains("Shop::{closure} (shop.php):0"), "\(found)")
    }

    @Test func `a computing thread has PHP frames`() throws {
        let found = try frames(["compute"], count: 4)
        #expect(found.contains { $0.hasPrefix("Shop::wait (shop.php):1") }, "\(found)")
    }

    /// The previous function left its own instruction in the memory of this function's frame; this function stores none.
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

    @Test func `a computing function without calls is reported at the running line`() throws {
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

    @Test func `delegating generators are reported between the inner generator and the caller`() throws {
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

    /// Following all of them takes longer than the thread may be stopped.
    @Test func `of many delegating generators the running one is reported`() throws {
        let program = """
            <?php
            function work() {
              echo "ready\\n"; while (true) { $number = ($number ?? 0) + 1; }
            }
            function turns($depth) {
              yield $depth;
              if ($depth == 0) { work(); }
              yield from turns($depth - 1);
            }
            foreach (turns(2000) as $number);
            """
        let process = try InterpretedProcess("/usr/bin/php8.2", program, file: "turns.php")
        for _ in 0..<5 {
            let own = process.own(process.take())
            #expect(Array(own.prefix(2)) == ["work (turns.php):3", "turns (turns.php):7"], "\(own.prefix(3))")
        }
    }

    /// The functions of the innermost frames are copied before the time limit, although walking all frames takes longer.
    @Test func `a running deep recursion is reported with its innermost frames`() throws {
        let program = """
            <?php
            function work() {
              echo "ready\\n"; while (true) { $number = ($number ?? 0) + 1; }
            }
            function down($depth) {
              if ($depth == 0) { work(); }
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
