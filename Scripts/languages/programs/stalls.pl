# Stalls with a known function and line: stalls.pl SCENARIO ROUNDS TRUTH LEAD. A loop waits between the stalls, and LEAD seconds before the first. Writes
# the start and end of each stall to TRUTH. TURN: a hard link to the TRUTH of the program that stalls; programs that run at the same time stall one after another.
use strict;
use warnings;
use Compress::Zlib ();
use Digest::SHA ();
use Errno qw(EEXIST);
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use JSON::PP ();
use List::Util ();
use POSIX ();
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);

use constant {SECONDS => 0.35, RESTS => 25, REST_SECONDS => 0.02};

sub pause { return usleep($_[0] * 1e6) } # @stall substitute main::pause

sub compute {
    my ($finish, $count) = (clock_gettime(CLOCK_MONOTONIC) + SECONDS, 0); # @stall compute main::compute
    while (clock_gettime(CLOCK_MONOTONIC) < $finish) { # @stall compute main::compute
        $count++; # @stall compute main::compute
    }
}

sub multiply {
    my $value = 1; # @stall arithmetic main::multiply
    for my $round (0 .. 3_000_000) { # @stall arithmetic main::multiply
        $value = ($value * 31 + $round) & 0xffff; # @stall arithmetic main::multiply
    }
    return $value;
}

sub rest {
    select undef, undef, undef, SECONDS; # @stall sleep main::rest
}

sub read_pipe {
    open my $pipe, '-|', 'sleep ' . SECONDS . '; echo x' or die;
    my $line = <$pipe>; # @stall pipe main::read_pipe
    close $pipe; # @stall pipe main::read_pipe
}

sub descend {
    my ($depth) = @_;
    return descend($depth - 1) + 1 if $depth > 0;
    usleep(SECONDS * 1e6); # @stall recursion main::descend
    return 0;
}

sub make_closure {
    my ($factor) = @_;
    return sub {
        my ($seconds) = @_;
        usleep($seconds * $factor * 1e6); # @stall closure main::__ANON__
    };
}

sub sort_numbers {
    my @numbers = map { ($_ * 7919) % 1_000_003 } 1 .. 60_000; # @stall sort main::sort_numbers
    my @sorted = sort { $a <=> $b || $b <=> $a } @numbers; # @stall sort main::sort_numbers
    @sorted = sort { "$a" cmp "$b" } @numbers; # @stall sort main::sort_numbers
}

sub sort_goods {
    my @goods = map { { price => ($_ * 7919) % 30_011, name => "good $_" } } 1 .. 60_000; # @stall sort-block main::sort_goods
    my @sorted = sort { $b->{price} <=> $a->{price} || $a->{name} cmp $b->{name} } @goods; # @stall sort-block main::sort_goods
}

sub compare {
    usleep(SECONDS * 1e6); # @stall sort-callback main::compare
    return $a <=> $b;
}

sub sort_slowly { my @sorted = sort compare 2, 1 }

sub filter {
    my @found = map { $_ % 3 } grep { $_ % 2 } 1 .. 40_000 for 1 .. 50; # @stall map main::filter
}

sub evaluate {
    eval 'usleep(SECONDS * 1e6); 1' or die; # @stall eval main::evaluate
}

sub attempt {
    eval {
        usleep(SECONDS * 1e6); # @stall try main::attempt
        die "expected\n";
    };
}

sub match {
    for (1 .. 3) { # @stall regex main::match
        my $found = ('a' x 24 . 'b') =~ /^(a|aa)+$/; # @stall regex main::match
        usleep(SECONDS * 3e5); # @stall regex main::match
    }
}

sub substitute {
    my $text = 'abc';
    $text =~ s/(b)/pause(SECONDS), $1/e;
}

sub count_words {
    my ($finish, $round, %count) = (clock_gettime(CLOCK_MONOTONIC) + SECONDS, 0); # @stall hash main::count_words
    while (clock_gettime(CLOCK_MONOTONIC) < $finish) { # @stall hash main::count_words
        $count{"word" . $round++}++ for 1 .. 100; # @stall hash main::count_words
    }
}

sub serialize {
    my @values = map { {name => "name $_", values => [$_, $_ + 1]} } 1 .. 300;
    my $finish = clock_gettime(CLOCK_MONOTONIC) + SECONDS;
    while (clock_gettime(CLOCK_MONOTONIC) < $finish) { # @stall json main::serialize
        JSON::PP::encode_json(\@values); # @stall json main::serialize
    }
}

sub digest {
    my $finish = clock_gettime(CLOCK_MONOTONIC) + SECONDS; # @stall digest main::digest
    my $data = 'x' x 4_000_000; # @stall digest main::digest
    while (clock_gettime(CLOCK_MONOTONIC) < $finish) { # @stall digest main::digest
        Digest::SHA::sha512_hex($data); # @stall digest main::digest
    }
}

sub compress {
    my ($finish, $data) = (clock_gettime(CLOCK_MONOTONIC) + SECONDS, join ',', 1 .. 200_000); # @stall zlib main::compress
    while (clock_gettime(CLOCK_MONOTONIC) < $finish) { # @stall zlib main::compress
        Compress::Zlib::compress($data); # @stall zlib main::compress
    }
}

sub reduce {
    my $sum = List::Util::reduce { # @stall reduce main::reduce|main::__ANON__
        usleep(SECONDS * 2.5e5); # @stall reduce main::reduce|main::__ANON__
        $a + $b; # @stall reduce main::reduce|main::__ANON__
    } 1 .. 5; # @stall reduce main::reduce|main::__ANON__
}

sub run_command {
    system 'sleep', SECONDS; # @stall system main::run_command
}

sub run_shell {
    my $text = `sleep ${\SECONDS}; echo x`; # @stall backticks main::run_shell
}

sub require_slowly {
    my $folder = File::Temp::tempdir(CLEANUP => 1) . '/site_perl';
    mkdir $folder;
    open my $file, '>', "$folder/Slow.pm" or die;
    print $file "Time::HiRes::usleep(350000); 1;\n";
    close $file;
    require "$folder/Slow.pm"; # @stall require main::require_slowly
}

sub catch_signal {
    local $SIG{ALRM} = sub {
        usleep(SECONDS * 1e6); # @stall signal main::__ANON__
    };
    kill ALRM => $$;
    POSIX::getpid();
}

package Shop;

sub new { return bless {}, shift }

sub checkout {
    my ($self) = @_;
    return map { $self->price($_) } 1 .. 3;
}

sub price {
    my ($self, $number) = @_;
    if ($number == 3) {
        Time::HiRes::usleep(main::SECONDS * 1e6); # @stall method Shop::price
    }
    return $number;
}

sub AUTOLOAD {
    our $AUTOLOAD;
    return if $AUTOLOAD =~ /DESTROY/;
    Time::HiRes::usleep(main::SECONDS * 1e6); # @stall autoload Shop::AUTOLOAD
}

package Held;

sub DESTROY {
    Time::HiRes::usleep(main::SECONDS * 1e6); # @stall destroy Held::DESTROY
}

package Tied;

sub TIESCALAR { return bless [], shift }

sub FETCH {
    Time::HiRes::usleep(main::SECONDS * 1e6); # @stall tie Tied::FETCH
    return 1;
}

package Price;
use overload '+' => \&add;

sub add {
    Time::HiRes::usleep(main::SECONDS * 1e6); # @stall overload Price::add
    return 1;
}

package main;

my %stalls = (
    compute => \&compute,
    arithmetic => \&multiply,
    sleep => \&rest,
    pipe => \&read_pipe,
    recursion => sub { descend(40) },
    closure => sub { make_closure(1)->(SECONDS) },
    sort => \&sort_numbers,
    'sort-block' => \&sort_goods,
    'sort-callback' => \&sort_slowly,
    map => \&filter,
    eval => \&evaluate,
    try => \&attempt,
    regex => \&match,
    substitute => \&substitute,
    hash => \&count_words,
    json => \&serialize,
    digest => \&digest,
    zlib => \&compress,
    reduce => \&reduce,
    system => \&run_command,
    backticks => \&run_shell,
    require => \&require_slowly,
    signal => \&catch_signal,
    method => sub { Shop->new->checkout },
    autoload => sub { Shop->new->unknown },
    destroy => sub { my $held = bless {}, 'Held'; undef $held },
    tie => sub { tie my $price, 'Tied'; my $copy = $price },
    overload => sub { my $price = bless {}, 'Price'; my $sum = $price + 1 },
);

sub now { return int(clock_gettime(CLOCK_MONOTONIC) * 1e9) }

sub stall {
    my ($name, $listener, $file) = @_;
    # A client waits during the stall.
    my $client = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $listener->sockport) or die;
    my $start = now();
    $stalls{$name}->();
    $file->print("$start ", now(), "\n");
    $file->flush;
    unlink $ENV{TURN} if $ENV{TURN};
    close $listener->accept;
}

sub takes_turn {
    return 1 if !$ENV{TURN} || link $ARGV[2], $ENV{TURN};
    die "$ENV{TURN}: $!" if $! != EEXIST;
    return 0;
}

# A loop with a single wait, so that it always waits at the same place.
my ($name, $rounds, $truth, $lead) = @ARGV;
my $listener = IO::Socket::INET->new(Listen => 8, LocalAddr => '127.0.0.1') or die;
open my $file, '>', $truth or die;
my $select = IO::Select->new($listener);
my ($rests, $stalled, $due) = (0, 0, int($lead / REST_SECONDS) + RESTS);
while ($stalled < $rounds || $rests < $due) {
    $select->can_read(REST_SECONDS);
    $rests++;
    if ($stalled < $rounds && $rests >= $due && takes_turn()) {
        stall($name, $listener, $file);
        $stalled++;
        $due = $rests + RESTS;
    }
}
