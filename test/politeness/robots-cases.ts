/** Facts of the public test suites of other robots.txt parsers, as data. A bar ends a line; `agent` is FooBot unless said. */
export interface RobotsCase {
  readonly file: string | Uint8Array
  readonly agent?: string
  readonly yes?: readonly string[]
  readonly no?: readonly string[]
  /** Seconds; null: none. */
  readonly delay?: number | null
  readonly sitemaps?: readonly string[]
  /** Where we answer otherwise, and why: every check of the case must then come out the other way. */
  readonly differs?: string
}

export interface RobotsSuite {
  readonly name: string
  readonly cases: readonly RobotsCase[]
}

const FISH = [
  '/fish',
  '/fish.html',
  '/fish/salmon.html',
  '/fishheads',
  '/fishheads/yummy.html',
  '/fish.html?id=anything',
]
/** A path that fills a line to where it is cut. */
const filling = (name: string, letter: string) => `/x/${letter.repeat(2083 * 8 - '/x/'.length - name.length + 1)}`
const LONG = filling('disallow: ', 'a')
const LONG_A = filling('allow: ', 'a')
const LONG_B = filling('allow: ', 'b')
const UNRESERVED = 'RFC 9309 has unreserved characters mean the same in both spellings'
const ENCODED = 'URLs reach the matcher with every such character encoded, so that both spellings are one'
const COLON = 'what is meant by a rule without its colon is plain'
const MERGED = 'RFC 9309 merges groups for the same agent'
const TOKEN = 'RFC 9309 knows letters, dashes and underscores in names of agents, compared whole'

const bytes = (mark: readonly number[], text: string) => Buffer.concat([Buffer.from(mark), Buffer.from(text)])

const google: RobotsSuite = {
  name: 'google/robotstxt, robots_test.cc',
  cases: [
    { file: '', yes: ['/'] },
    { file: 'user-agent: FooBot|disallow: /', agent: '', yes: ['/'] },
    { file: 'user-agent: FooBot|disallow: /', no: ['/', '/x/y'] },
    { file: '', agent: '', yes: ['/'] },
    { file: 'foo: FooBot|bar: /', yes: ['/x/y'] },
    { file: 'user-agent FooBot|disallow /', no: ['/x/y'] },
    ...[
      { agent: 'FooBot', yes: ['/x/b', '/z/d'], no: ['/y/c', '/foo/bar/'] },
      { agent: 'BarBot', yes: ['/y/c', '/w/a'], no: ['/z/d', '/foo/bar/'] },
      { agent: 'BazBot', yes: ['/z/d'], no: ['/foo/bar/'] },
    ].map((one) => ({
      file: 'allow: /foo/bar/||user-agent: FooBot|disallow: /|allow: /x/|user-agent: BarBot|disallow: /|allow: /y/|||allow: /w/|user-agent: BazBot||user-agent: FooBot|allow: /z/|disallow: /',
      ...one,
    })),
    // Lines of other kinds between agents do not part them.
    ...['Sitemap: https://foo.bar/sitemap', 'Invalid-Unknown-Line: unknown', 'Unknown-token: x'].flatMap((line) => [
      { file: `User-agent: BarBot|${line}|User-agent: *|Disallow: /`, no: ['/'] },
      { file: `User-agent: BarBot|${line}|User-agent: *|Disallow: /`, agent: 'BarBot', no: ['/'] },
      { file: `User-agent: FooBot|${line}|User-agent: *|Disallow: /`, no: ['/'] },
    ]),
    ...['USER-AGENT: FooBot|ALLOW: /x/|DISALLOW: /', 'uSeR-aGeNt: FooBot|AlLoW: /x/|dIsAlLoW: /'].map((file) => ({
      file,
      yes: ['/x/y'],
      no: ['/a/b'],
    })),
    { file: 'user-agent: FooBot|allow: /x/|disallow: /', yes: ['/x/y'], no: ['/a/b'] },
    ...['FOO BAR', 'foo bar', 'FoO bAr'].flatMap((name) =>
      ['Foo', 'foo'].map((agent) => ({
        file: `User-Agent: ${name}|Allow: /x/|Disallow: /`,
        agent,
        yes: ['/x/y'],
        no: ['/a/b'],
      })),
    ),
    { file: 'User-Agent: *|Disallow: /|User-Agent: Foo Bar|Allow: /x/|Disallow: /', agent: 'Foo', yes: ['/x/y'] },
    { file: 'user-agent: *|allow: /|user-agent: FooBot|disallow: /', no: ['/x/y'] },
    { file: 'user-agent: *|allow: /|user-agent: FooBot|disallow: /', agent: 'BarBot', yes: ['/x/y'] },
    {
      file: 'user-agent: FooBot|allow: /|user-agent: BarBot|disallow: /|user-agent: BazBot|disallow: /',
      agent: 'QuxBot',
      yes: ['/x/y'],
    },
    { file: 'user-agent: FooBot|disallow: /x/', no: ['/x/y'] },
    { file: 'user-agent: FooBot|disallow: /X/', yes: ['/x/y'] },
    { file: 'user-agent: FooBot|disallow: /x/page.html|allow: /x/', no: ['/x/page.html'] },
    { file: 'user-agent: FooBot|allow: /x/page.html|disallow: /x/', yes: ['/x/page.html'], no: ['/x/'] },
    { file: 'user-agent: FooBot|disallow: |allow: ', yes: ['/x/page.html'] },
    { file: 'user-agent: FooBot|disallow: /|allow: /', yes: ['/x/page.html'] },
    { file: 'user-agent: FooBot|disallow: /x|allow: /x/', yes: ['/x/'], no: ['/x'] },
    { file: 'user-agent: FooBot|disallow: /x/page.html|allow: /x/page.html', yes: ['/x/page.html'] },
    { file: 'user-agent: FooBot|allow: /page|disallow: /*.html', yes: ['/page'], no: ['/page.html'] },
    { file: 'user-agent: FooBot|allow: /x/page.|disallow: /*.html', yes: ['/x/page.html'], no: ['/x/y.html'] },
    { file: 'User-agent: *|Disallow: /x/|User-agent: FooBot|Disallow: /y/', yes: ['/x/page'], no: ['/y/page'] },
    {
      file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar?qux=taz&baz=http://foo.bar?tar&par',
      yes: ['/foo/bar?qux=taz&baz=http://foo.bar?tar&par'],
    },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/ツ', yes: ['/foo/bar/%E3%83%84'] },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/ツ', no: ['/foo/bar/ツ'], differs: ENCODED },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%E3%83%84', yes: ['/foo/bar/%E3%83%84'] },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%E3%83%84', no: ['/foo/bar/ツ'], differs: ENCODED },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%62%61%7A', yes: ['/foo/bar/%62%61%7A'] },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%62%61%7A', no: ['/foo/bar/baz'], differs: UNRESERVED },
    {
      file: 'User-agent: FooBot|Disallow: /foo/bar/quz|Allow: /foo/*/qux',
      yes: ['/foo/quz', '/foo//quz', '/foo/bax/quz'],
      no: ['/foo/bar/quz'],
    },
    {
      file: 'User-agent: FooBot|Disallow: /foo/bar$|Allow: /foo/bar/qux',
      yes: ['/foo/bar/qux', '/foo/bar/', '/foo/bar/baz'],
      no: ['/foo/bar'],
    },
    {
      file: 'User-agent: FooBot|# Disallow: /|Disallow: /foo/quz#qux|Allow: /',
      yes: ['/foo/bar'],
      no: ['/foo/quz'],
    },
    {
      file: 'User-Agent: *|Allow: /allowed-slash/index.html|Disallow: /',
      yes: ['/allowed-slash/', '/allowed-slash/index.html'],
      no: ['/allowed-slash/index.htm', '/anyother-url'],
    },
    { file: `user-agent: FooBot|disallow: ${LONG}/qux`, yes: ['/fux'], no: [`${LONG}/fux`] },
    {
      file: `user-agent: FooBot|disallow: /|allow: ${LONG_A}/qux|allow: ${LONG_B}/qux`,
      yes: [`${LONG_A}/qux`, `${LONG_B}/fux`],
      no: ['/'],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /fish',
      yes: FISH,
      no: ['/bar', '/Fish.asp', '/catfish', '/?id=fish'],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /fish*',
      yes: FISH,
      no: ['/bar', '/Fish.bar', '/catfish', '/?id=fish'],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /fish/',
      yes: ['/fish/', '/fish/salmon', '/fish/?salmon', '/fish/salmon.html', '/fish/?id=anything'],
      no: ['/bar', '/fish', '/fish.html', '/Fish/Salmon.html'],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /*.php',
      yes: [
        '/filename.php',
        '/folder/filename.php',
        '/folder/filename.php?parameters',
        '//folder/any.php.file.html',
        '/filename.php/',
        '/index?f=filename.php/',
      ],
      no: ['/bar', '/php/', '/index?php', '/windows.PHP'],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /*.php$',
      yes: ['/filename.php', '/folder/filename.php'],
      no: [
        '/bar',
        '/filename.php?parameters',
        '/filename.php/',
        '/filename.php5',
        '/php/',
        '/filename?php',
        '/aaaphpaaa',
        '//windows.PHP',
      ],
    },
    {
      file: 'user-agent: FooBot|disallow: /|allow: /fish*.php',
      yes: ['/fish.php', '/fishheads/catfish.php?parameters'],
      no: ['/bar', '/Fish.PHP'],
    },
    { file: 'user-agent: FooBot|allow: /p|disallow: /', yes: ['/page'] },
    { file: 'user-agent: FooBot|allow: /folder|disallow: /folder', yes: ['/folder/page'] },
    { file: 'user-agent: FooBot|allow: /page|disallow: /*.htm', no: ['/page.htm'] },
    { file: 'user-agent: FooBot|allow: /$|disallow: /', yes: ['/'], no: ['/page.html'] },
    ...['\n', '\r\n', '\r'].flatMap((end) =>
      [end, ''].flatMap((last) => {
        const file = ['User-Agent: foo', 'Allow: /some/path', 'User-Agent: bar', '', '', 'Disallow: /'].join(end) + last
        return [
          { file, agent: 'foo', yes: ['/x'] },
          { file, agent: 'bar', no: ['/some/path'] },
        ]
      }),
    ),
    {
      file: 'User-Agent: foo\nAllow: /some/path\r\nUser-Agent: bar\n\r\n\nDisallow: /',
      agent: 'bar',
      no: ['/some/path'],
    },
    { file: bytes([0xef, 0xbb, 0xbf], 'User-Agent: foo\nDisallow: /AnyValue\n'), agent: 'foo', no: ['/AnyValue'] },
    { file: bytes([0xef, 0xbb], 'User-Agent: foo\nDisallow: /AnyValue\n'), agent: 'foo', no: ['/AnyValue'] },
    { file: bytes([0xef], 'User-Agent: foo\nDisallow: /AnyValue\n'), agent: 'foo', no: ['/AnyValue'] },
    { file: bytes([0xef, 0x11, 0xbf], 'User-Agent: foo\nDisallow: /AnyValue\n'), agent: 'foo', yes: ['/AnyValue'] },
    { file: 'User-Agent: foo|\uFEFFx Disallow: /AnyValue', agent: 'foo', yes: ['/AnyValue'] },
    {
      file: 'User-Agent: foo|Allow: /some/path|User-Agent: bar|||Sitemap: http://foo.bar/sitemap.xml',
      sitemaps: ['http://foo.bar/sitemap.xml'],
    },
    {
      file: 'Sitemap: http://foo.bar/sitemap.xml|User-Agent: foo|Allow: /some/path|User-Agent: bar||',
      sitemaps: ['http://foo.bar/sitemap.xml'],
    },
    { file: 'User-agent: FooBot|Disallow: /á', no: ['/%C3%A1'] },
    { file: 'User-agent: FooBot|Disallow: /%aa', no: ['/%AA'] },
  ],
}

/** Of the RFC's own example, in three suites: path, then whether unhipbot, webcrawler, excite and others may have it. */
const FICT =
  'User-agent: unhipbot|Disallow: /||User-agent: webcrawler|User-agent: excite|Disallow:||User-agent: *|Disallow: /org/plans.html|Allow: /org/|Allow: /serv|Allow: /~mak|Disallow: /'
const FICT_PATHS = ['/', '/index.html', '/server.html', '/services/fast.html', '/services/slow.html', '/orgo.gif']
const FICT_MORE = ['/org/about.html', '/org/plans.html', '/%7Ejim/jim.html', '/%7Emak/mak.html']
const FICT_OPEN = new Set([
  '/server.html',
  '/services/fast.html',
  '/services/slow.html',
  '/org/about.html',
  '/%7Emak/mak.html',
])
const fict: readonly RobotsCase[] = [
  { file: FICT, agent: 'unhipbot', no: [...FICT_PATHS, ...FICT_MORE], yes: ['/robots.txt'] },
  { file: FICT, agent: 'webcrawler', yes: [...FICT_PATHS, ...FICT_MORE, '/robots.txt'] },
  { file: FICT, agent: 'excite', yes: [...FICT_PATHS, ...FICT_MORE, '/robots.txt'] },
  {
    file: FICT,
    agent: 'anything',
    yes: [...FICT_OPEN, '/robots.txt'],
    no: [...FICT_PATHS, ...FICT_MORE].filter((path) => !FICT_OPEN.has(path)),
  },
]

const protego: RobotsSuite = {
  name: 'scrapy/protego, test_protego.py',
  cases: [
    {
      file: 'User-agent: * |Disallow: /disallowed |Allow: /allowed |Crawl-delay: 10',
      yes: ['/allowed'],
      no: ['/disallowed'],
      delay: 10,
      sitemaps: [],
    },
    { file: 'User-agent: * |Disallow: /d |Crawl-delay: 10', yes: ['/abc/d'], no: ['/disallowed'] },
    {
      file: 'User-agent: * |Disallow: /one |Dissallow: /two |Dissalow: /three |Disalow: /four |Diasllow: /five |Disallaw: /six ',
      no: ['/one', '/two', '/three', '/four', '/five', '/six'],
    },
    { file: 'User-agent: * |Disallow: / |Allow: /page', yes: ['/page'], no: ['/elsewhere'] },
    ...['/a%3cd.html', '/a%3c*', '/a<d.html', '/a<*'].map((rule) => ({
      file: `User-agent: * |Disallow: / |Allow: ${rule}`,
      yes: ['/a%3Cd.html', '/a%3cd.html', '/a<d.html'],
    })),
    { file: 'User-agent: * |Disallow: /path;params?query ', no: ['/path;params?query'] },
    { file: 'User-agent: * |Disallow: /? ', yes: ['/'], no: ['/?query'] },
    { file: 'User-agent: * |Disallow: /; ', yes: ['/'], no: ['/;params'] },
    {
      file: 'User-agent: * |Disallow: /disallowed |Allow: /allowed |Sitemap: https://site.local/sitemap.xml |Allow: /another_allowed |User-agent: testbot |Sitemap: https://site.local/sitemap2.xml',
      sitemaps: ['https://site.local/sitemap.xml', 'https://site.local/sitemap2.xml'],
    },
    ...[
      { agent: 'x', delay: 10 },
      { agent: 'testbot', delay: 15 },
    ].map((one) => ({
      file: 'User-agent: * |Disallow: /disallowed |Allow: /allowed |Crawl-delay: 10 |User-agent: testbot|Crawl-delay: 15 ',
      ...one,
    })),
    { file: 'User-agent: * |Disallow: /disallowed |Crawl-delay: random_word', delay: null },
    { file: 'User-agent: * |Disallow: /disallowed |Allow: /allowed', delay: null },
    { file: '', agent: 'chrome', yes: ['/', '/index.html', '/disallowed'] },
    {
      file: '  User-agent: first|  Disallow: /disallowed/*/end$|  Disallow: /protego*work',
      agent: 'first',
      yes: ['/disallowed', '/disallowed/xyz/endinglater', '/rotego_does_work', '/protego_does_wor'],
      no: [
        '/disallowed/xyz/end',
        '/disallowed/abc/end',
        '/protegoworks',
        '/protego_works',
        '/protego/works',
        '/protego_does_work',
      ],
    },
    {
      file: 'User-agent: second|Allow: /*allowed|Disallow: /',
      agent: 'second',
      yes: ['/allowed', '/is_still_allowed', '/is_allowed_too'],
    },
    { file: 'User-agent: FooBot|Disallow:  /foo*', yes: ['/fo.html'], no: ['/foo.html', '/food', '/foo/bar.html'] },
    {
      file: 'User-agent: FooBot|Disallow:  /foo*/bar.html',
      yes: ['/fo.html', '/food/xyz.html'],
      no: ['/foo/bar.html', '/food/bar.html', '/foo/a/b/c/x/y/z/bar.html'],
    },
    {
      file: 'User-agent: FooBot|Disallow:  *m',
      yes: ['/foo', '/foo/bar.txt'],
      no: ['/foo.htm', '/foo.html', '/foom', '/moo', '/foo/bar.html'],
    },
    {
      file: 'User-agent: FooBot|Allow:  /foo/bar.html|Disallow: *',
      yes: ['/foo/bar.html'],
      no: ['/fo.html', '/foo.html', '/foo', '/foo/bar.txt'],
    },
    {
      file: 'User-agent: FooBot|Disallow:  /foo*/*bar.html',
      yes: ['/food/rebarf.html'],
      no: ['/foo/bar.html', '/food/rebar.html', '/foo/a/b/c/rebar.html', '/foo/a/b/c/bar.html'],
    },
    {
      file: 'User-agent: FooBot|Allow:  /foo$|Disallow:  /foo',
      yes: ['/foo'],
      no: ['/foo/', '/foo/bar.html', '/fooey'],
    },
    {
      file: 'User-agent: FooBot|Allow: *****************/****.js',
      yes: ['/xyz/foo.js', '/inlife/daily/fashion-20160727/'],
    },
    {
      file: 'User-Agent: *|Disallow: /admin/|Disallow: /static/|Disallow: /wiki/K%C3%A4ytt%C3%A4j%C3%A4:|Disallow: /wiki/Keskustelu_käyttäjästä:',
      yes: ['/', '/some/randome/page.html'],
      no: [
        '/admin/',
        '/static/',
        '/wiki/K%C3%A4ytt%C3%A4j%C3%A4:',
        '/wiki/Käyttäjä:',
        '/wiki/Keskustelu_k%C3%A4ytt%C3%A4j%C3%A4st%C3%A4:',
        '/wiki/Keskustelu_käyttäjästä:',
      ],
    },
    { file: 'User-Agent: Jävla-Foobot|Disallow: /', agent: 'jävla-fanbot', yes: ['/foo/bar.html'], differs: TOKEN },
    { file: 'User-Agent: Jävla-Foobot|Disallow: /', agent: 'foobot', yes: ['/'] },
    ...[
      { agent: 'mybot', yes: ['/withoutUA', '/withUA'], delay: null },
      { agent: 'testbot', yes: ['/withoutUA'], no: ['/withUA'], delay: null },
    ].map((one) => ({
      file: 'Disallow: /withoutUA|Allow: /withoutUA/exception|Crawl-delay: 5.2|User-Agent: testbot|Disallow: /withUA',
      ...one,
    })),
    ...[
      { agent: 'mybot', no: ['/default-UA'] },
      { agent: 'testbot', yes: ['/default-UA'] },
      { agent: 'robot', yes: ['/default-UA'] },
    ].map((one) => ({
      file: 'User-Agent: robot|Disallow: /ro-bot||User-Agent: *|Disallow: /default-UA||User-Agent: testbot|Disallow: /testbot',
      ...one,
    })),
    ...['TESTbot', 'testbot', 'tEStbOt'].map((agent) => ({
      file: 'User-Agent: testbot|Disallow: /testbot||User-Agent: *|Disallow: /default-UA',
      agent,
      yes: ['/default-UA'],
      no: ['/testbot'],
    })),
    ...['one', 'two'].map((agent) => ({
      file: 'User-Agent: one|User-Agent: two|Disallow: /success|User-Agent: *|Disallow: /failure',
      agent,
      yes: ['/failure'],
      no: ['/success'],
    })),
    ...['one', 'two'].map((agent) => ({
      file: '# comment 1|User-Agent: one # comment 2|# comment 3|User-Agent: two|Disallow: /one-two-bot|# Disallow: /commented|# comment 4|User-Agent: *|Disallow: /default-ua',
      agent,
      yes: ['/commented', '/default-ua'],
      no: ['/one-two-bot'],
    })),
    ...['Harry: Potter', 'Harry Potter'].flatMap((line) => [
      {
        file: `User-Agent: one|Disallow: /bot-one|${line}|User-Agent: two|Disallow: /bot-two`,
        agent: 'one',
        yes: ['/bot-two'],
        no: ['/bot-one'],
      },
      {
        file: `User-Agent: one|Disallow: /bot-one|${line}|User-Agent: two|Disallow: /bot-two`,
        agent: 'two',
        yes: ['/bot-one'],
        no: ['/bot-two'],
      },
    ]),
    ...['one', 'two'].map((agent) => ({
      file: 'User-Agent: one|Disallow:||User-Agent: two|Allow:',
      agent,
      yes: ['/path1', '/path2'],
    })),
    { file: 'User-Agent: harrybot|Disallow: /|User-Agent: testbot', agent: 'testbot', yes: ['/path1', '/path2'] },
    {
      file: 'User-agent: *|Disallow: /cyberworld/map/ # This is an infinite virtual URL space|Disallow: /tmp/ # these will soon disappear|Disallow: /foo.html',
      agent: 'CrunchyFrogBot',
      yes: ['/', '/foo.htm', '/foo.shtml', '/cyberworld/index.html'],
      no: ['/foo.html', '/foo.htmlx', '/tmp/foo.html'],
    },
    { file: 'User-agent: FooBot|Allow: /tmp|Disallow: /', yes: ['/tmp.html', '/tmp', '/tmp/a.html'] },
    { file: 'User-agent: FooBot|Allow: /tmp/|Disallow: /', yes: ['/tmp/', '/tmp/a.html'], no: ['/tmp'] },
    { file: 'User-agent: FooBot|Allow: /a%3cd.html|Disallow: /', yes: ['/a%3cd.html', '/a%3Cd.html'] },
    { file: 'User-agent: FooBot|Allow: /a%3Cd.html|Disallow: /', yes: ['/a%3cd.html', '/a%3Cd.html'] },
    { file: 'User-agent: FooBot|Allow: /a%2fb.html|Disallow: /', yes: ['/a%2fb.html'], no: ['/a/b.html'] },
    { file: 'User-agent: FooBot|Allow: /a/b.html|Disallow: /', yes: ['/a/b.html'], no: ['/a%2fb.html'] },
    { file: 'User-agent: FooBot|Allow: /%7ejoe/index.html|Disallow: /', yes: ['/~joe/index.html'] },
    { file: 'User-agent: FooBot|Allow: /~joe/index.html|Disallow: /', yes: ['/%7Ejoe/index.html'] },
    ...fict.map(({ yes = [], ...one }) => ({ ...one, yes: yes.filter((path) => path !== '/robots.txt') })),
    { file: 'User-agent: *|Disallow:    /||User-agent: foobot|Disallow:', yes: ['/', '/bar.html'] },
    {
      file: 'User-agent: *|Disallow:    /||User-agent: foobot|Disallow:',
      agent: 'SomeOtherBot',
      no: ['/', '/blahblahblah'],
    },
    {
      file: 'User-agent: abc|Disallow: /content/2/|User-agent: *|Invalid_directive: /gb.html|User-agent: ia_archiver|Disallow: /',
      agent: 'agent',
      yes: ['/foo', '/foobar', '/content/2'],
      differs: 'lines of other kinds do not part agents, as in the suite of Google',
    },
    {
      file: 'User-agent: abc|Disallow: /content/2/|User-agent: *|Invalid_directive: /gb.html|User-agent: ia_archiver|Disallow: /',
      agent: 'ia_archiver',
      no: ['/bar', '/foo', '/foobar', '/content/2'],
    },
    { file: 'Foo: Foobot|Bar: /', yes: ['/x/y'] },
    { file: 'user-agent foobot|disallow /', no: ['/x/y'] },
    { file: 'user-agent: foo*bot|disallow: /myprofile', no: ['/myprofile'], differs: TOKEN },
    { file: 'USER-AGENT: onebot|ALLOW: /x|DISALLOW: /', agent: 'onebot', yes: ['/x/y'], no: ['/a/b'] },
    { file: 'uSEr-aGEnT: threeBot|AlLoW: /x|DIsALlOw: /', agent: 'threebot', yes: ['/x/y'], no: ['/a/b'] },
    {
      file: 'User-Agent: *|Allow: /allowed-slash/index.html|Disallow: /',
      yes: ['/allowed-slash/', '/allowed-slash/index.html'],
      no: ['/allowed-slash/index.htm', '/anyother-url'],
    },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/ツ', yes: ['/foo/bar/%E3%83%84', '/foo/bar/ツ'] },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%E3%83%84', yes: ['/foo/bar/%E3%83%84', '/foo/bar/ツ'] },
    { file: 'User-agent: FooBot|Disallow: /|Allow: /foo/bar/%62%61%7A', yes: ['/foo/bar/baz', '/foo/bar/%62%61%7A'] },
    {
      file: 'user-agent: FooBot|disallow: /x$/abc|disallow: /y/abc$|disallow: /x*x$/abc|disallow: /y*y/abc$',
      yes: ['/y/abcdef', '/yabcy/abcdef'],
      no: ['/x$/abcdef', '/x%24/abcdef', '/y/abc', '/xabcx$/abcdef', '/xabcx%24/abcdef', '/yabcy/abc'],
    },
    {
      file: 'user-agent: FooBot|disallow: /x/abc%24|disallow: /x%2Ax/abc',
      yes: ['/x/abc', '/xabcx/abc'],
      no: ['/x/abc$abc', '/x/abc$', '/x*x/abc', '/x*x/abcdef'],
    },
    { file: 'user-agent: FooBot|disallow: /x/abc$|disallow: /x*x/abc', no: ['/x*x/abc'] },
    {
      file: 'user-agent: FooBot|disallow: /x/abc$',
      no: ['/x/abc$', '/x/abc%24'],
      differs: 'RFC 9309 has a dollar at the end mean the end, and nothing else',
    },
    { file: 'user-agent: *|disallow: http://ms-web00.walkerplus.com/', yes: ['/'] },
    {
      file: 'user-agent: *|disallow: http://ms-web00.walkerplus.com/',
      no: ['/http://ms-web00.walkerplus.com/'],
      differs: 'a rule that does not begin with a slash or a star matches no path',
    },
    {
      file: 'Sitemap: https://www.foo.bar/sitmap.xml|User-Agent: FootBot|Disallow: /something',
      sitemaps: ['https://www.foo.bar/sitmap.xml'],
    },
    {
      file: 'User-Agent: *|Disallow: //folder/*',
      yes: ['/', '/folder', '/folder/', '/folder/page', '//folder'],
      no: ['//folder/page'],
    },
    { file: 'User-agent: * |Disallow: /*s=', yes: ['/', '/s/'], no: ['/?s=asd'] },
    { file: 'User-Agent: *|allow: */p|disallow: /', yes: ['/page'] },
    { file: 'User-Agent: *|allow: /page|disallow: */*.htm', no: ['/page.htm'] },
  ],
}

const reppy: RobotsSuite = {
  name: 'seomoz/reppy, test_robots.py and test_agent.py',
  cases: [
    {
      file: 'Disallow: /path|Allow: /path/exception|Crawl-delay: 7',
      agent: 'agent',
      no: ['/path'],
      delay: 7,
      differs: 'RFC 9309 ignores rules before the first agent',
    },
    { file: 'User-agent: *|Crawl-delay: word', agent: 'agent', delay: null },
    {
      file: 'User-agent: *|Disallow: /tmp||User-agent: other-agent|Allow: /tmp',
      agent: 'agent',
      yes: ['/path'],
      no: ['/tmp'],
    },
    { file: 'User-agent: *|Disallow: /tmp||User-agent: agent|Allow: /tmp', agent: 'agent', yes: ['/tmp', '/path'] },
    ...['one', 'two'].map((agent) => ({ file: 'User-agent: one|User-agent: two|Disallow: /tmp', agent, no: ['/tmp'] })),
    {
      file: 'User-agent: *|Disallow: /content/2/|User-agent: *|Noindex: /gb.html|Noindex: /content/2/|User-agent: ia_archiver|Disallow: /',
      agent: 'agent',
      yes: ['/foo'],
      differs: 'lines of other kinds do not part agents, as in the suite of Google',
    },
    {
      file: 'User-agent: *|Disallow: /content/2/|User-agent: *|Noindex: /gb.html|Noindex: /content/2/|User-agent: ia_archiver|Disallow: /',
      agent: 'ia_archiver',
      no: ['/bar'],
    },
    { file: 'User-agent: one|Crawl-delay: 1||User-agent: two|Crawl-delay: 2', agent: 'one', delay: 1 },
    { file: 'User-agent: one|Crawl-delay: 1||User-agent: two|Crawl-delay: 2', agent: 'two', delay: 2 },
    {
      file: 'Sitemap: http://a.com/sitemap.xml|Sitemap: http://b.com/sitemap.xml',
      sitemaps: ['http://a.com/sitemap.xml', 'http://b.com/sitemap.xml'],
    },
    ...['agent', 'aGeNt'].map((agent) => ({ file: 'User-agent: Agent|Disallow: /path', agent, no: ['/path'] })),
    { file: '', agent: 'agent', yes: ['/'], sitemaps: [] },
    { file: "User-Agent: *  # comment saying it's the default agent|Disallow: /", agent: 'agent', no: ['/'] },
    {
      file: 'User-Agent: agent|Disallow /no/colon/in/this/line',
      agent: 'agent',
      yes: ['/no/colon/in/this/line'],
      differs: COLON,
    },
    ...[
      { agent: 'agent', yes: ['/path'] },
      { agent: 'other', no: ['/path'] },
    ].flatMap((one) => {
      const text = '\n  User-Agent: agent\n  Allow: /path\n\n  User-Agent: other\n  Disallow: /path\n'
      return [
        { file: bytes([0xef, 0xbb, 0xbf], text), ...one },
        { file: Buffer.from(`\uFEFF${text}`, 'utf16le'), ...one },
      ]
    }),
    ...fict,
    { file: 'User-agent: agent|Disallow: /path|Allow: /path/', agent: 'agent', yes: ['/path/'], no: ['/path'] },
    { file: 'User-agent: agent|Allow: /path', agent: 'agent', yes: ['/path', '/elsewhere'] },
    {
      file: 'User-agent: agent|Disallow: /path|Allow: /path/exception',
      agent: 'agent',
      yes: ['/path/exception'],
      no: ['/path'],
    },
    { file: 'User-agent: agent|Disallow: /robots.txt', agent: 'agent', yes: ['/robots.txt'] },
    { file: 'User-agent: agent|Disallow:', agent: 'agent', yes: ['/anything'] },
    ...['/a%3cd.html', '/a<d.html', '/a%3c*', '/a<*'].map((rule) => ({
      file: `User-agent: agent|Disallow: ${rule}`,
      agent: 'agent',
      no: ['/a<d.html', '/a%3cd.html'],
    })),
    { file: 'User-agent: agent|Disallow: /path;params?query', agent: 'agent', no: ['/path;params?query'] },
    { file: 'User-agent: agent|Disallow: /?', agent: 'agent', yes: ['/'], no: ['/?'] },
    { file: 'User-agent: agent|Disallow: /;', agent: 'agent', yes: ['/'], no: ['/;'] },
  ],
}

const FISH_TEST = { yes: ['/fish', '/Test.html'], no: ['/fish/index.php', '/fish/', '/test.html'] }
const robotsParser: RobotsSuite = {
  name: 'samclarke/robots-parser, test/Robots.js',
  cases: [
    ...['\n', '\r', '\r\n'].map((end) => ({
      file: ['User-agent: *', 'Disallow: /fish/', 'Disallow: /test.html'].join(end),
      ...FISH_TEST,
    })),
    { file: 'User-agent: *\rDisallow: /fish/\r\nDisallow: /test.html\n\n', ...FISH_TEST },
    {
      file: 'User-agent: *|Disallow: /fish/|Disallow: /test.html|Allow: /fish/test.html|Allow: /test.html',
      yes: ['/fish', '/fish/test.html', '/Test.html', '/test.html'],
      no: ['/fish/index.php', '/fish/'],
    },
    {
      file: 'User-agent: *|Disallow: /fish*.php|Disallow: /*.dext$|Disallow: /dir*',
      yes: ['/Fish.PHP', '/Fish.dext1', '/folder/dir.html', '/folder/dir/test.html'],
      no: [
        '/fish.php',
        '/fishheads/catfish.php?parameters',
        '/AnYthInG.dext',
        '/Fish.dext.dext',
        '/dir/test.html',
        '/directory.html',
      ],
    },
    {
      file: 'User-agent: *|Disallow: /fish*.php|Allow: /fish/index.php|Disallow: /test|Allow: /test/|Disallow: /aa/|Allow: /aa/|Allow: /bb/|Disallow: /bb/',
      yes: ['/test/index.html', '/fish/index.php', '/test/', '/aa/', '/bb/', '/x/'],
      no: ['/fish.php', '/fishheads/catfish.php?parameters', '/test'],
    },
    {
      file: 'User-agent: *|Disallow: /*/|Allow: /x/',
      yes: ['/x/', '/fish.php', '/test'],
      no: ['/a/', '/xx/', '/test/index.html'],
    },
    { file: 'Disallow: /secret.html|Disallow: /test', yes: ['/secret.html', '/test/index.html', '/test/'] },
    {
      file: '#|# This is a comment|#|User-agent: *|# This is a comment|Disallow: /fish/ # ignore|# Disallow: fish|Disallow: /test.html',
      ...FISH_TEST,
    },
    {
      file: 'invalid line|User-agent: *|Disallow: /fish/|:::::another invalid line:::::|Disallow: /test.html|Unknown: tule',
      ...FISH_TEST,
    },
    { file: 'User-agent:|Disallow: /fish/|Disallow: /test.html', yes: [...FISH_TEST.yes, ...FISH_TEST.no] },
    { file: 'User-agent: agenta|User-agent: agentb|Disallow: /fish', agent: 'agenta', no: ['/fish'] },
    {
      file: 'User-agent: *|Disallow: /%CF%80|Disallow: /%e2%9d%83|Disallow: /%a%a|Disallow: /💩|Disallow: /✼*t$|Disallow: /%E2%9C%A4*t$|Disallow: /✿%a|Disallow: /http%3A%2F%2Fexample.org',
      yes: [
        '/✼testing',
        '/%E2%9C%BCtesting',
        '/✤testing',
        '/%E2%9C%A4testing',
        '/http://example.org',
        '/http:%2F%2Fexample.org',
      ],
      no: [
        '/%CF%80',
        '/%CF%80/index.html',
        '/π',
        '/π/index.html',
        '/%e2%9d%83',
        '/%E2%9D%83/index.html',
        '/❃',
        '/❃/index.html',
        '/%F0%9F%92%A9',
        '/%F0%9F%92%A9/index.html',
        '/💩',
        '/💩/index.html',
        '/%a%a',
        '/%a%a/index.html',
        '/✼test',
        '/%E2%9C%BCtest',
        '/✤test',
        '/%E2%9C%A4testt',
        '/✿%a',
        '/%E2%9C%BF%atest',
        '/http%3A%2F%2Fexample.org',
      ],
    },
    {
      file: 'User-agent: *|Disallow: /\uD800|Disallow: /\uDC00',
      yes: ['/\uDC00', '/\uD800'],
      differs: 'half a character is taken for the replacement character, in the rule as in the URL',
    },
    { file: '', yes: ['/secret.html', '/test/index.html', '/test/', '/'] },
    ...[
      { agent: 'a', delay: 1 },
      { agent: 'b', delay: null },
      { agent: 'c', delay: 10 },
      { agent: 'd', delay: 10 },
      { agent: 'other', delay: null },
    ].map((one) => ({
      file: 'user-agent: a|crawl-delay: 1|user-agent: b|disallow: /d|user-agent: c|user-agent: d|crawl-delay: 10',
      ...one,
    })),
    ...['a', 'b', 'c', 'd'].map((agent) => ({
      file: 'user-agent: a|crawl-delay: 1.2.1|user-agent: b|crawl-delay: 1.a0|user-agent: c|user-agent: d|crawl-delay: 10a',
      agent,
      delay: null,
    })),
    {
      file: 'user-agent: a|crawl-delay: 1|sitemap: http://example.com/test.xml|user-agent: b|disallow: /d|sitemap: /sitemap.xml|sitemap:     http://example.com/test/sitemap.xml     ',
      sitemaps: ['http://example.com/test.xml', '/sitemap.xml', 'http://example.com/test/sitemap.xml'],
    },
    ...[
      { agent: 'should-fall-back', delay: 1 },
      { agent: 'd', delay: 10 },
      { agent: 'dd', delay: 1 },
      { agent: 'should-fall-back/1.0.0', delay: 1 },
      { agent: 'd/12', delay: 10 },
      { agent: 'dd / 0-32-3', delay: 1 },
      { agent: 'b / 1.0', delay: 12 },
    ].map((one) => ({
      file: 'user-agent: *|crawl-delay: 1|user-agent: b|crawl-delay: 12|user-agent: c|user-agent: d|crawl-delay: 10',
      ...one,
    })),
    { file: 'user-agent: *|crawl-delay: 1|user-agent: b|disallow:', agent: 'b', delay: null },
  ],
}

const CYBER = 'User-agent: *|Disallow: /cyberworld/map/ # This is an infinite virtual URL space'
const FIGTREE = {
  file: 'User-agent: figtree|Crawl-delay: 3|Request-rate: 9/30|Disallow: /tmp|Disallow: /a%3cd.html|Disallow: /a%2fb.html|Disallow: /%7ejoe/index.html',
  yes: ['/foo.html'],
  no: ['/tmp', '/tmp.html', '/tmp/a.html', '/a%3cd.html', '/a%3Cd.html', '/a%2fb.html', '/~joe/index.html'],
  delay: 3,
}
const cpython: RobotsSuite = {
  name: 'python/cpython, test_robotparser.py',
  cases: [
    {
      file: `${CYBER}|Disallow: /tmp/ # these will soon disappear|Disallow: /foo.html`,
      yes: ['/', '/test.html'],
      no: ['/cyberworld/map/index.html', '/tmp/xxx', '/foo.html'],
    },
    {
      file: `${CYBER}||# Cybermapper knows where to go.|User-agent: cybermapper|Disallow:`,
      yes: ['/', '/test.html'],
      no: ['/cyberworld/map/index.html'],
    },
    {
      file: `${CYBER}||# Cybermapper knows where to go.|User-agent: cybermapper|Disallow:`,
      agent: 'cybermapper',
      yes: ['/cyberworld/map/index.html'],
    },
    {
      file: `Sitemap: http://www.gstatic.com/s2/a.xml|User-agent: *|Sitemap: http://www.google.com/b.xml|Request-rate: 3/15|Disallow: /cyberworld/map/`,
      yes: ['/', '/test.html'],
      no: ['/cyberworld/map/index.html'],
      sitemaps: ['http://www.gstatic.com/s2/a.xml', 'http://www.google.com/b.xml'],
    },
    { file: '# go away|User-agent: *|Disallow: /', no: ['/cyberworld/map/index.html', '/', '/tmp/'] },
    { file: '', yes: ['/foo'], delay: null },
    { file: 'User-agent: *|Disallow: /bar', delay: null },
    { ...FIGTREE, agent: 'figtree' },
    { ...FIGTREE, agent: 'FigTree Robot libwww-perl/5.04' },
    {
      file: 'User-agent: *|Disallow: /tmp/|Disallow: /a%3Cd.html|Disallow: /a/b.html|Disallow: /%7ejoe/index.html|Crawl-delay: 3|Request-rate: 9/banana',
      yes: ['/tmp'],
      no: ['/tmp/', '/tmp/a.html', '/a%3cd.html', '/a%3Cd.html', '/a/b.html', '/%7Ejoe/index.html'],
      delay: 3,
    },
    { file: 'User-Agent: *|Disallow: /.|Crawl-delay: pears', yes: ['/foo.html'], delay: null },
    {
      file: 'User-agent: Googlebot|Allow: /folder1/myfile.html|Disallow: /folder1/|Request-rate: whale/banana',
      agent: 'Googlebot',
      yes: ['/folder1/myfile.html'],
      no: ['/folder1/anotherfile.html'],
    },
    {
      file: 'User-agent: Googlebot|Disallow: /||User-agent: Googlebot-Mobile|Allow: /',
      agent: 'Googlebot',
      no: ['/something.jpg'],
    },
    {
      file: 'User-agent: Googlebot|Disallow: /||User-agent: Googlebot-Mobile|Allow: /',
      agent: 'Googlebot-Mobile',
      no: ['/something.jpg'],
      differs: TOKEN,
    },
    { file: 'User-agent: *|Disallow: /some/path?name=value', yes: ['/some/path'], no: ['/some/path?name=value'] },
    { file: 'User-agent: *|Disallow: /some/path||User-agent: *|Disallow: /another/path', no: ['/some/path'] },
    {
      file: 'User-agent: *|Disallow: /some/path||User-agent: *|Disallow: /another/path',
      yes: ['/another/path'],
      differs: MERGED,
    },
    { file: 'User-agent: *|Allow: /some/path?|Disallow: /another/path?', yes: ['/some/path?'], no: ['/another/path?'] },
    {
      file: 'User-agent: *|Crawl-delay: 1|Request-rate: 3/15|Disallow: /cyberworld/map/',
      yes: ['/', '/test.html'],
      no: ['/cyberworld/map/index.html'],
      delay: 1,
    },
  ],
}

export const SUITES: readonly RobotsSuite[] = [google, protego, reppy, robotsParser, cpython]
