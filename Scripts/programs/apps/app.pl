# Mojolicious: perl app.pl daemon -l URL.
use Mojolicious::Lite -signatures;
use Time::HiRes qw(sleep time);

app->log->level('fatal');
get '/*what' => { what => '' } => sub ($c) {
    my $path = $c->stash('what');
    if ($path eq 'sleep') {
        sleep 0.6;
    } elsif ($path eq 'hang') {
        sleep 8;
    } elsif ($path eq 'compute') {
        my $end = time + 0.6;
        1 while time < $end;
    } elsif ($path eq 'read') {
        open my $pipe, '<', $ENV{FIFO} or die;
        local $/;
        <$pipe>;
    }
    $c->render(text => "hello\n");
};
app->start;
