import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkBrowser } from '../../../src/fetch/browser/chromium.js'
import { screenshotOf } from '../../../src/fetch/failure-screenshot.js'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import { codeOf } from '../support.js'
import { browsersUnder, newBrowser, rendered, type Site, startSite } from './support.js'

const APP = `<!doctype html><title>shop</title><div id="root"></div><img src="/big.png"><script>
  document.cookie = 'seen=yes'
  document.title += localStorage.visits = Number(localStorage.visits ?? 0) + 1
  fetch('/api').then((answer) => answer.json()).then(({ title }) => { root.innerHTML = '<h1>' + title + '</h1>' })
</script>`

let site: Site
let third: Site
let fetcher: Fetcher
let starts = 0

beforeAll(async () => {
  const frame = '<script>parent.postMessage((localStorage.n = Number(localStorage.n ?? 0) + 1), "*")</script>'
  third = await startSite({ '/frame': frame })
  site = await startSite({
    '/app': (request, response) => {
      response.setHeader('set-cookie', 'server=1; HttpOnly').setHeader('content-type', 'text/html')
      response.end(
        APP.replace('shop', `${request.headers['user-agent']} ${request.headers['x-own']} ${request.headers.cookie}`),
      )
    },
    '/api': (request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ title: `A tome, own header: ${request.headers['x-own']}` }))
    },
    '/moved': (_request, response) => response.writeHead(302, { location: '/app' }).end(),
    '/script-moves': '<p>wait</p><script>location.href = "/app"</script>',
    '/refresh': '<meta http-equiv="refresh" content="0; url=/app">',
    '/data.json': (_request, response) => response.setHeader('content-type', 'application/json').end('{"a":1}'),
    '/gone': (_request, response) => response.writeHead(410).end('gone'),
    '/endless': '<h1>endless</h1><script>for (;;) {}</script>',
    '/late': '<script>setTimeout(() => { document.body.innerHTML = "<b class=late>here</b>" }, 300)</script>',
    '/huge': '<script>document.write("x".repeat(300000))</script>',
    '/dialog': '<script>alert(1); confirm(2); window.open("/app"); document.write("<i>after</i>")</script>',
    '/silent': () => {},
    '/busy': '<h1>shown</h1><script>setInterval(() => fetch("/silent"), 200)</script>',
    '/consents': '<script>document.cookie = "consent=yes"; location.href = "/app"</script>',
    '/deep/down/page': (_request, response) => {
      response.setHeader('set-cookie', 'renewed=1; Path=/; HttpOnly').setHeader('content-type', 'text/html')
      response.end(`<p></p><script>
        document.cookie = 'csrf=y; path=/'
        document.cookie = 'old=; path=/; max-age=0'
        document.cookie = 'here=1'
        fetch('/who').then((answer) => answer.text()).then((who) => { document.querySelector('p').textContent = who })
      </script>`)
    },
    '/who': (request, response) => response.setHeader('content-type', 'text/plain').end(request.headers.cookie),
    '/leaves': (_request, response) =>
      response.setHeader('content-type', 'text/html').end(`<p></p><script>
        const count = (store) => (store.n = Number(store.n ?? 0) + 1)
        const own = 'local ' + count(localStorage) + ' session ' + count(sessionStorage) + ' name ' + name + ' history ' + history.length
        name = 'left'
        onmessage = ({ data }) => {
          document.querySelector('p').textContent = own + ' third ' + data
          document.body.className = 'third'
        }
      </script><iframe src="${third.origin}/frame"></iframe>`),
    '/latin': (_request, response) =>
      response.setHeader('content-type', 'text/html; charset=iso-8859-1').end(Buffer.from('<p>caf\xe9</p>', 'latin1')),
  })
  fetcher = newBrowser({ onStart: () => starts++ })
})

afterAll(async () => {
  await fetcher.close()
  await site.close()
  await third.close()
  expect(browsersUnder()).toEqual([])
})

const text = (body: Uint8Array) => Buffer.from(body).toString()
const get = (path: string, ...more: [object?, object?, { aborted: boolean }?]) =>
  rendered(fetcher, `${site.origin}${path}`, ...more)

describe('a page in the browser', () => {
  it('is what its scripts made of it, with the headers and cookies of the visit on its own host', async () => {
    const headers = { 'user-agent': 'Shoal-test/1', 'x-own': 'mine', cookie: 'session=7' }
    const page = await get('/app', {}, { headers })
    expect(text(page.body)).toContain('<h1>A tome, own header: undefined</h1>')
    expect(text(page.body)).toContain('Shoal-test/1 mine session=7')
    expect(page).toMatchObject({ url: `${site.origin}/app`, status: 200 })
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(page.cookies.map((cookie) => cookie.split(';')[0]).sort()).toEqual(['seen=yes', 'server=1'])
    expect(page.cookies.find((cookie) => cookie.startsWith('server'))).toContain('HttpOnly')
    expect(page.rendered).toMatchObject({ requests: 1 })
    expect(page.rendered?.screenshot?.subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
    expect(site.requests.filter((path) => path !== '/app')).toEqual(['/api'])
  })

  it('has nothing of the visit before it', async () => {
    const page = await get('/app', {}, { headers: { 'user-agent': 'Shoal-test/1' } })
    expect(text(page.body)).toContain('<title>Shoal-test/1 undefined undefined1</title>')
  })

  it.each([
    ['/moved', '/app'],
    ['/script-moves', `/app`],
    ['/refresh', `/app`],
  ])('hands a redirect back instead of following it: %s', async (path, target) => {
    site.requests.length = 0
    const page = await get(path)
    expect(page.status).toBe(302)
    expect(new URL(page.headers.location ?? '', page.url).href).toBe(`${site.origin}${target}`)
    expect(site.requests).toEqual([path])
  })

  it('takes what is no HTML, and no success, as it comes', async () => {
    const data = await get('/data.json')
    expect([data.status, data.headers['content-type'], text(data.body)]).toEqual([200, 'application/json', '{"a":1}'])
    const gone = await get('/gone')
    expect([gone.status, text(gone.body)]).toEqual([410, 'gone'])
    const latin = await get('/latin')
    expect(text(latin.body)).toContain('café')
  })

  it('waits for a selector, and fails with a picture when it does not come', async () => {
    const render = { wait: '.late', settleMs: 5_000, images: false }
    expect(text((await get('/late', {}, { render })).body)).toContain('here')
    const failure = await get('/app', {}, { render: { ...render, wait: '.never', settleMs: 300 } }).catch(
      (error: unknown) => error,
    )
    expect(failure).toMatchObject({ code: 'not_rendered' })
    expect(screenshotOf(failure)?.length).toBeGreaterThan(500)
  })

  it('is not stopped by dialogs, and opens no windows', async () => {
    site.requests.length = 0
    expect(text((await get('/dialog')).body)).toContain('after')
    expect(site.requests).toEqual(['/dialog'])
  })

  it('ends at its deadline, whatever its scripts or its server do', async () => {
    expect(await codeOf(get('/endless', { totalMs: 1_000 }))).toBe('timeout')
    expect(await codeOf(get('/silent', { headersMs: 300 }))).toBe('timeout')
    const stop = { aborted: false }
    const given = fetcher.fetch(
      {
        url: `${site.origin}/silent`,
        limits: {
          totalMs: 9_000,
          connectMs: 9_000,
          headersMs: 9_000,
          idleMs: 9_000,
          maxHeaderBytes: 16_384,
          maxBodyBytes: 1e6,
        },
        allowPrivate: ['127.0.0.1:*'],
      },
      stop,
    )
    setTimeout(() => {
      stop.aborted = true
    }, 400)
    expect(await codeOf(given)).toBe('aborted')
  })

  it('is never larger than the cap', async () => {
    expect(await codeOf(get('/huge', { maxBodyBytes: 100_000 }))).toBe('too_large')
  })

  it('is not sent without leave, and waits for it in the tab that is open already', async () => {
    site.requests.length = 0
    const signal = { aborted: false }
    const request = {
      url: `${site.origin}/app`,
      allowPrivate: ['127.0.0.1:*'],
      limits: {
        totalMs: 8_000,
        connectMs: 5_000,
        headersMs: 6_000,
        idleMs: 6_000,
        maxHeaderBytes: 16_384,
        maxBodyBytes: 1e6,
      },
    }
    const stale = new Error('too old')
    const refused = fetcher.fetch(
      {
        ...request,
        onDispatch: () => {
          throw stale
        },
      },
      signal,
    )
    await expect(refused).rejects.toBe(stale)
    expect(site.requests).toEqual([])
    expect((await fetcher.fetch(request, signal)).status).toBe(200)
  })

  it('does not wait in a tab of another proxy or session', async () => {
    const signal = { aborted: false }
    const stale = () => {
      throw new Error('too old')
    }
    const headers = { 'user-agent': 'Shoal-test/1', cookie: 'sid=alice' }
    const asAlice = { headers, onDispatch: stale }
    await expect(get('/app', {}, asAlice, signal)).rejects.toThrow('too old')
    const page = await get('/app', {}, { headers: { ...headers, cookie: 'sid=bob' } }, signal)
    expect(text(page.body)).toContain('undefined sid=bob')
    await expect(get('/app', {}, asAlice, signal)).rejects.toThrow('too old')
    const nowhere = { protocol: 'http', host: '127.0.0.1', port: 1, username: '', password: '' }
    expect(await codeOf(get('/app', {}, { headers, proxy: nowhere }, signal))).toBe('proxy_error')
  })

  it('leaves nothing that another visitor finds, nor its name and history to anybody', async () => {
    const left = async (more: object) => /<p>(.*)<\/p>/.exec(text((await get('/leaves', {}, more)).body))?.[1]
    const [alice, bob] = [{}, {}]
    const as = (visitor: object, cookie: string) => ({
      headers: { cookie },
      render: { wait: '.third', settleMs: 5_000, images: false, visitor },
      allowPrivate: ['127.0.0.1:*'],
    })
    expect(await left(as(alice, 'a=1'))).toBe('local 1 session 1 name  history 2 third 1')
    expect(await left(as(bob, 'a=1'))).toBe('local 1 session 1 name  history 2 third 1')
    // A visitor has one window, whatever cookies were set meanwhile: a frame of another origin may know it again.
    expect(await left(as(alice, 'a=2'))).toBe('local 1 session 1 name  history 2 third 2')
  })

  it('gives the cookies of a session to the whole host, and takes back what changed', async () => {
    const cookie = 'sid=1; csrf=x; old=1; __Host-no=1; odd="a b; big='.concat('y'.repeat(5_000))
    const page = await get('/deep/down/page', {}, { headers: { cookie } })
    expect(text(page.body)).toContain('<p>sid=1; odd="a b; renewed=1; csrf=y</p>')
    expect([...page.cookies].sort()).toEqual([
      'csrf=y; Path=/; SameSite=Lax',
      'here=1; Path=/deep/down; SameSite=Lax',
      'old=; Path=/; Max-Age=0',
      'renewed=1; Path=/; HttpOnly; SameSite=Lax',
    ])
  })

  it('takes back the cookies that a script set before it led on', async () => {
    const page = await get('/consents')
    expect(page).toMatchObject({ status: 302, headers: { location: `${site.origin}/app` } })
    expect(page.cookies.map((line) => line.split(';')[0])).toEqual(['consent=yes'])
  })

  it('has a picture when its deadline passes', async () => {
    const failure = await get('/busy', { totalMs: 1_500 }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'timeout' })
    expect(screenshotOf(failure)?.length).toBeGreaterThan(500)
  })

  it('was rendered in one browser', () => {
    expect(starts).toBe(1)
  })
})

describe('a browser that crashes', () => {
  it('fails the page, and the next page gets a new one', async () => {
    const pending = codeOf(get('/silent'))
    await expect.poll(() => site.requests.at(-1), { timeout: 10_000 }).toBe('/silent')
    const before = starts
    const [main] = browsersUnder()
    process.kill(main ?? 0, 'SIGKILL')
    expect(await pending).toBe('browser_crashed')
    expect((await get('/app')).status).toBe(200)
    expect(starts).toBe(before + 1)
  })

  it('is told apart from one that is not there', async () => {
    const none = newBrowser({ executable: '/nowhere/chromium' })
    expect(await codeOf(rendered(none, `${site.origin}/app`))).toBe('browser_missing')
    await none.close()
    // Its start says nothing about the page, which loses no attempt by it.
    const broken = newBrowser({ executable: '/bin/false' })
    await expect(rendered(broken, `${site.origin}/app`)).rejects.toMatchObject({
      code: 'browser_unusable',
      next: 'backend',
    })
    await broken.close()
    expect(await codeOf(checkBrowser('/bin/false'))).toBe('browser_unusable')
  })
})
