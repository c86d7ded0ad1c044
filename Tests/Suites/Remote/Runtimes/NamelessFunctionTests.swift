internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Functions without their own name, such as routes in many frameworks: what distinguishes them from others of the same name.
struct NamelessFunctionTests {
    struct Sample: Sendable {
        let interpreter, name: String
        /// Two texts that may precede the program, and a program with two functions, of which the argument selects one.
        let head, other, program: String
    }

    static let samples = [
        Sample(
            interpreter: "/usr/bin/ruby",
            name: "block in <main>",
            head: "",
            other: "MORE = [1, 2].sum\n",
            program: """
                $stdout.sync = true
                ROUTES = {
                  "list" => proc { STDOUT.write "ready\\n"; sleep 600 },
                  "order" => proc { number = 3
                    STDOUT.write "ready\\n"; sleep 600; number },
                }
                ROUTES[ARGV[0]].call
                """
        ),
        Sample(
            interpreter: "/usr/bin/php8.2",
            name: "{closure}",
            head: "<?php\n",
            other: "<?php\n$more = [1, 2];\n",
            program: """
                $routes = [
                  "list" => function () { echo "ready\\n"; sleep(600); },
                  "order" => function () { $number = rand(1, 3); echo "ready\\n"; sleep(600); return $number; },
                ];
                $routes[$argv[1]]();
                """
        ),
        Sample(
            interpreter: "/usr/bin/perl",
            name: "main::__ANON__",
            head: "",
            other: "my @more = (1, 2);\n",
            program: """
                $| = 1;
                my %routes = (
                  list => sub { print "ready\\n"; sleep 600; },
                  order => sub { my $number = 3; print "ready\\n"; sleep 600; return $number; },
                );
                $routes{$ARGV[0]}->();
                """
        ),
    ]

    private func variant(_ sample: Sample, _ head: String, _ route: String) throws -> String? {
        let process = try InterpretedProcess(sample.interpreter, head + sample.program, file: "shop", [route])
        var found: String?
        _ = eventually {
            found = process.variants()[sample.name]
            return found != nil
        }
        return found
    }

    @Test(arguments: samples.indices.filter { access(samples[$0].interpreter, X_OK) == 0 })
    func `two functions of one name are distinguished, independent of their position in the file`(index: Int) throws {
        let sample = Self.samples[index]
        let list = try #require(try variant(sample, sample.head, "list"))
        #expect(try variant(sample, sample.other, "list") == list)
        let order = try #require(try variant(sample, sample.head, "order"))
        #expect(order != list)
    }

    private static let opcache = "/usr/lib/php/20220829/opcache.so"

    /// The optimizer evaluates `step`, removes `unused`, and resolves the function `pause`.
    @Test(.enabled(if: access(opcache, R_OK) == 0, "no opcache on this machine"))
    func `a PHP closure has the same variant whether opcache has optimized it or not`() throws {
        let program = """
            <?php
            namespace Shop;
            $route = function (int $number) {
                $unused = 5; $step = 2; $end = $number + $step * 3;
                if ($step === 3) { $end = 0; }
                return pause($end);
            };
            $route(3);
            function pause($end) {
                $status = \\function_exists('opcache_get_status') ? \\opcache_get_status() : false;
                echo ($GLOBALS['argv'][1] === 'optimized') === (bool) $status ? "ready\\n" : "other\\n"; \\sleep(600);
            }
            """
        let options = ["-d", "opcache.enable_cli=1", "-d", "opcache.file_update_protection=0"]
        let variants = try [("plain", []), ("optimized", options)].map { kind, options in
            let process = try InterpretedProcess("/usr/bin/php8.2", program, file: "shop", [kind], options: options)
            var found: String?
            _ = eventually {
                found = process.variants()["Shop\\{closure}"]
                return found != nil
            }
            return found
        }
        #expect(variants[0] != nil && variants[0] == variants[1])
    }
}
