// Assembles the parts. Everything that needs no script is already in the page.

function setUp() {
  setUpTables();
  setUpFlame();
  setUpHeat();
  setUpTimeline();
  setUpDetail();
  const section = byId('worst');
  section.querySelector('h2').after(make('p', { class: 'note', id: 'worst-note', 'aria-live': 'polite' }));
  byId('incident-table')?.closest('section').querySelector('h2').after(make('p', { class: 'note', id: 'incidents-note', 'aria-live': 'polite' }));
  views.push(showFilter);
  onResize(() => { if (flame.root) drawFlame(); });
  choose(setUpLink());
}

setUp();
