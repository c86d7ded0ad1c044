internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A Perl program that sleeps or computes, watched from here.
@Suite(.enabled(if: access("/usr/bin/perl", X_OK) == 0, "no Perl on this machine"))
struct PerlProcessTests {
    private static let program = """
        $| = 1;
        package Shop;
        sub checkout {
          my ($what) = @_;
          my @sorted = sort by_price 2, 1 if $what eq "sort";
          my $each = sub {
            eval {
              price($what);
            };
          };
          $each->();
        }
        sub by_price { price("sleep") }
        sub price {
          my ($what) = @_;
          print "ready\\n";
          if ($what eq "block") {
            sleep 600;
          }
          if ($what eq "compute") {
            while (1) {
              my @numbers = sort { $a <=> $b } map { $_ * 7 % 11 } 1 .. 1000;
            }
          }
          eval 'sleep 600';
        }
        package main;
        Shop::checkout($ARGV[0]);

        """

    private func frames(_ what: String, until isThere: ([String]) -> Bool) throws -> [String] {
        let process = try InterpretedProcess("/usr/bin/perl", Self.program, file: "shop.pl", [what])
        var found: [String] = []
        _ = eventually {
            found = process.described(process.take())
            return isThere(found)
        }
        return found
    }

    @Test func `a sleeping thread has Perl frames in place of interpreter frames`() throws {
        let found = try frames("sleep") { $0.contains { $0.hasPrefix("(eval)") } }
        #expect(
            found.filter { $0 != "C" } == [
                "(eval):1", "Shop::price (shop.pl):25", "Shop::__ANON__ (shop.pl):8", "Shop::checkout (shop.pl):11",
                "main::RUNTIME (shop.pl):28",
            ],
            "\(found)"
        )
    }

    @Test func `a Perl function called from C is reported within the function that called C`() throws {
        let found = try frames("sort") { $0.contains { $0.hasPrefix("(eval)") } }
        let comparison = try #require(found.firstIndex(of: "Shop::by_price (shop.pl):13"), "\(found)")
        #expect(found[comparison + 1] == "C" && found.last { $0 != "C" } == "main::RUNTIME (shop.pl):28")
        #expect(found[comparison...].contains("Shop::checkout (shop.pl):5"))
    }

    @Test func `the only statement of a block has its line although Perl omits the statement`() throws {
        let found = try frames("block") {
            $0.contains { $0.hasPrefix("Shop::price") } && $0.last { $0 != "C" } == "main::RUNTIME (shop.pl):28"
        }
        #expect(found.contains("Shop::price (shop.pl):18") && found.contains("Shop::__ANON__ (shop.pl):8"), "\(found)")
    }

    @Test func `a computing thread is reported at the line of its statement`() throws {
        let found = try frames("compute") {
            $0.contains { ["Shop::price (shop.pl):21", "Shop::price (shop.pl):22"].contains($0) }
        }
        #expect(found.contains { $0.hasPrefix("Shop::price (shop.pl):2") }, "\(found)")
        #expect(found.contains("Shop::checkout (shop.pl):11"), "\(found)")
    }
}
