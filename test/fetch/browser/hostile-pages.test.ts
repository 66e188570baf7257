import { createSocket } from 'node:dgram'
import { readdirSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Fetcher } from '../../../src/fetch/fetcher.js'
import { codeOf } from '../support.js'
import { type Answer, browsersUnder, newBrowser, rendered, type Site, startSite, startTripwire } from './support.js'

/** What pages do to a browser on purpose or by accident. After each of them the next page must be fine. */
const page = (script: string, html = '') =>
  `<!doctype html><body>${html}<h1>shown</h1><script>const say = (text) => document.body.append(text + ';'); ${script}</script>`

/** Runs in a worker of the given kind, which has globals of its own. */
const inWorker = (kind: 'Worker' | 'SharedWorker', script: string) =>
  `const origin = location.origin
   const worker = new ${kind}(URL.createObjectURL(new Blob(['const origin = "' + origin + '";' + ${JSON.stringify(script)}])))
   worker.onmessage = ({ data }) => say(data)`

const attached =
  (disposition: string, send: (response: ServerResponse) => void): Answer =>
  (_request, response) =>
    send(response.setHeader('content-type', 'text/html').setHeader('content-disposition', disposition))

const endless = (response: ServerResponse) => {
  const more = setInterval(() => response.write('x'.repeat(200_000)), 5)
  response.once('close', () => clearInterval(more))
}

let site: Site
let tripwire: Awaited<ReturnType<typeof startTripwire>>
let fetcher: Fetcher
const udp = createSocket('udp4')
let packets = 0

beforeAll(async () => {
  tripwire = await startTripwire()
  const inside = `127.0.0.1:${tripwire.port}`
  await new Promise<void>((resolve) => udp.on('message', () => packets++).bind(tripwire.port, '127.0.0.1', resolve))
  site = await startSite({
    '/ok': '<h1>ok</h1>',
    '/file': attached('attachment; filename=x.bin', (response) => response.end('bytes')),
    '/401': (_request, response) =>
      response.writeHead(401, { 'www-authenticate': 'Basic realm="x"', 'content-type': 'text/html' }).end('no'),

    '/attached': attached('attachment; filename="page.html"', (response) => response.end('<p>saved</p>')),
    '/attached-endless': attached('attachment', endless),
    '/odd-disposition': attached('x-odd', (response) => response.end('<p>saved</p>')),
    '/inline': attached('InLine; filename=x.html', (response) => response.end('<p>page</p>')),
    '/only-a-name': attached('filename="x.html"', (response) => response.end('<p>page</p>')),
    '/downloads': page(
      `for (const a of document.links) a.click()
       const blob = Object.assign(document.createElement('a'), { download: 'b', href: URL.createObjectURL(new Blob(['x'])) })
       blob.click()`,
      '<a download href="/file"></a><a download="b.txt" href="/ok"></a><iframe src="/file"></iframe>',
    ),

    '/service-worker': page(
      `const register = (how) => how().then((done) => say(done === undefined ? 'none' : 'registered'), () => say('none'))
       register(() => ServiceWorkerContainer.prototype.register.call(navigator.serviceWorker, '/sw.js'))
       delete navigator.serviceWorker.register
       register(() => navigator.serviceWorker.register('/sw.js'))
       const frame = document.body.appendChild(document.createElement('iframe'))
       register(() => frame.contentWindow.navigator.serviceWorker.register('/sw.js'))`,
    ),
    '/sw.js': (_request, response) =>
      response
        .setHeader('content-type', 'text/javascript')
        .end('onfetch = (event) => event.respondWith(new Response("from the service worker"))'),
    '/rtc': page(
      `const frames = ['', 'srcdoc', 'javascript:0'].map((src) => {
         const frame = document.createElement('iframe')
         if (src === 'srcdoc') frame.srcdoc = '<p>x'
         else if (src !== '') frame.src = src
         return document.body.appendChild(frame).contentWindow
       })
       for (const at of [window, ...frames]) {
         const Peer = at.RTCPeerConnection ?? at.webkitRTCPeerConnection
         say(typeof Peer + typeof at.WebTransport)
         if (Peer === undefined) continue
         const peer = new Peer({ iceServers: [{ urls: 'stun:${inside}' }] })
         peer.createDataChannel('x')
         peer.createOffer().then((offer) => peer.setLocalDescription(offer))
       }`,
    ),
    '/workers': page(
      inWorker(
        'Worker',
        `const tries = [
           new WebTransport('https://${inside}/').ready,
           new Promise((_, no) => { new WebSocket('ws://${inside}/').onerror = no }),
           new Promise((_, no) => { new EventSource('http://${inside}/').onerror = no }),
           fetch('http://169.254.169.254/latest/meta-data/'), fetch('http://${inside}/'), fetch('http://[::1]:${tripwire.port}/'),
         ]
         for (const one of tries) one.then(() => postMessage('reached'), () => postMessage('refused'))`,
      ),
    ),
    '/reports': (_request, response) => {
      const to = JSON.stringify({ group: 'g', max_age: 9_999, endpoints: [{ url: `http://${inside}/reports` }] })
      response.setHeader('report-to', to).setHeader('nel', '{"report_to":"g","max_age":9999,"success_fraction":1}')
      response.setHeader('content-security-policy', `img-src 'none'; report-uri http://${inside}/csp; report-to g`)
      response.setHeader('content-type', 'text/html')
      response.end(
        page(
          'document.links[0].click()',
          `<img src="/x.png"><a ping="http://${inside}/ping" href="#here">x</a><link rel="modulepreload" href="http://${inside}/x.js">`,
        ),
      )
    },
    '/popups': page(
      `const frame = document.body.appendChild(document.createElement('iframe'))
       for (let n = 0; n < 50; n++) {
         window.open('/popup'); frame.contentWindow.open('/popup')
         const a = document.body.appendChild(Object.assign(document.createElement('a'), { href: '/popup', target: '_blank' }))
         a.click()
         document.body.appendChild(Object.assign(document.createElement('form'), { action: '/popup', target: '_blank' })).submit()
       }
       window.close()`,
    ),

    '/logins': page(
      `const request = new XMLHttpRequest()
       request.open('GET', '/401', false); request.send(); say('xhr ' + request.status)
       fetch('/401').then(({ status }) => say('fetch ' + status))
       ${inWorker('Worker', "fetch(origin + '/401').then(({ status }) => postMessage('worker ' + status))")}`,
      '<script src="/401"></script><link rel="stylesheet" href="/401"><iframe src="/401"></iframe>',
    ),
    '/mailto': page('location.href = "mailto:a@b.example"'),
    '/app-link': page('location.href = "intent://x#Intent;end"; setTimeout(() => { location.href = "tel:1" }, 50)'),
    '/post': page('document.forms[0].submit()', '<form method="post" action="/posted"></form>'),
    '/hashes': page('let n = 0; setInterval(() => { location.hash = n++ }, 1)'),
    '/history': page(
      'for (let n = 0; n < 50; n++) history.pushState({}, "", "/p" + n); history.back(); setTimeout(() => history.go(-9), 50)',
    ),
    '/inner-pages': page(
      'for (const to of ["chrome://crash", "file:///etc/passwd", "data:text/html,gone"]) location.href = to',
      '<iframe src="chrome://settings"></iframe><iframe src="file:///etc/passwd"></iframe>',
    ),
    '/asks': page(
      `for (let n = 0; n < 5; n++) { alert('x'.repeat(1e5)); confirm(n); prompt(n) }
       print(); Notification.requestPermission(); navigator.geolocation.getCurrentPosition(() => say('position'))
       navigator.mediaDevices.getUserMedia({ audio: true }).then(() => say('listening'), () => {})
       navigator.clipboard.readText().then(() => say('clipboard'), () => {})`,
    ),
    '/stays': page(
      'onbeforeunload = (event) => { event.preventDefault(); return "stay" }; onpagehide = onunload = () => { for (;;); }',
    ),
    '/console': page(
      `for (let n = 0; n < 20; n++) console.log('x'.repeat(5e7)); console.error(new Error('x')); say('after')`,
    ),

    '/floods': page(inWorker('SharedWorker', "for (let n = 0; n < 700; n++) fetch(origin + '/flood').catch(() => {})")),
    '/memory': page('const kept = []; for (;;) kept.push(new Array(1e6).fill(1.5))'),
    '/alerts': page('for (;;) alert(1)'),
    '/dom': page('for (;;) document.body.append(document.createElement("div"))'),
    '/frames': page('for (let n = 0; n < 1000; n++) document.body.append(document.createElement("iframe"))'),
  })
  fetcher = newBrowser()
})

afterAll(async () => {
  await fetcher.close()
  await site.close()
  tripwire.close()
  udp.close()
  expect(browsersUnder()).toEqual([])
})

const get = async (path: string, limits: object = {}, settleMs = 3_000, wait: string | null = null) => {
  site.requests.length = 0
  const render = { wait, settleMs, images: false }
  const response = await rendered(fetcher, site.origin + path, limits, { render })
  return { ...response, text: Buffer.from(response.body).toString() }
}
const saidBy = ({ text }: { text: string }) => (text.split('</script>').at(-1) ?? '').replace(/<[^>]*>/g, '').trim()
const nextIsFine = async () => expect((await get('/ok', {}, 5_000, 'h1')).text).toContain('<h1>ok</h1>')

describe('a download', () => {
  it('is passed on as it came when it is the page itself', async () => {
    expect(await get('/attached')).toMatchObject({ status: 200, text: '<p>saved</p>' })
    expect(await get('/odd-disposition')).toMatchObject({ text: '<p>saved</p>' })
    for (const path of ['/inline', '/only-a-name'])
      expect((await get(path)).text, path).toContain('<body><p>page</p></body>')
  })

  it('without end is too large', async () => {
    expect(await codeOf(get('/attached-endless', { maxBodyBytes: 500_000 }))).toBe('too_large')
    await nextIsFine()
  })

  it('that a page starts leaves the page where it is, and no file', async () => {
    const before = readdirSync(tmpdir())
    const response = await get('/downloads')
    expect([response.status, response.text.includes('<h1>shown</h1>')]).toEqual([200, true])
    const left = readdirSync(tmpdir()).filter((name) => !before.includes(name) && /download|artifacts/i.test(name))
    expect(left).toEqual([])
    await nextIsFine()
  })
})

describe('a page reaches nothing', () => {
  it('by a service worker, whichever way it registers it', async () => {
    expect(saidBy(await get('/service-worker'))).toBe('none;none;none;')
    expect(site.requests).toEqual(['/service-worker'])
    await nextIsFine()
  })

  it('by WebRTC or WebTransport of any frame', async () => {
    expect(saidBy(await get('/rtc'))).toBe('undefinedundefined;'.repeat(4))
  })

  it('by workers, reports and pings', async () => {
    expect(saidBy(await get('/workers'))).toBe('refused;'.repeat(6))
    await get('/reports')
    expect([tripwire.connects(), packets]).toEqual([0, 0])
  })

  it('by windows', async () => {
    expect((await get('/popups')).text).toContain('shown')
    expect(site.requests).toEqual(['/popups'])
    await nextIsFine()
  })

  it('500 times and more, even in a worker that belongs to no page', async () => {
    await get('/floods', {}, 5_000)
    expect(site.requests.length).toBeLessThanOrEqual(500)
    await nextIsFine()
  })
})

describe('a page is shown although', () => {
  it('what it loads wants a login', async () => {
    const said = saidBy(await get('/logins', {}, 6_000))
    expect(said.split(';').sort()).toEqual(['', 'fetch 401', 'worker 401', 'xhr 401'])
  })

  it.each(['/mailto', '/app-link', '/post', '/history', '/inner-pages', '/asks', '/stays'])(
    'it tries to go elsewhere, or asks a person: %s',
    async (path) => {
      const { status, text } = await get(path)
      expect([status, text.includes('<h1>shown</h1>')]).toEqual([200, true])
      expect(text).not.toMatch(/<\/script>(position|listening|clipboard)/)
      expect(site.requests).toEqual([path])
      await nextIsFine()
    },
  )

  it('it fills the console', async () => {
    expect(saidBy(await get('/console'))).toBe('after;')
  })
})

describe('a page that is too much', () => {
  // A fast machine shows these in time.
  const endsItself = new Set(['/frames', '/hashes'])

  it.each(['/alerts', '/dom', '/memory', '/frames', '/hashes'])('ends at its deadline or before: %s', async (path) => {
    const outcome = await get(path, { totalMs: 2_000 }).then(
      () => 'shown',
      (error: { code?: string }) => error.code,
    )
    expect(['timeout', 'browser_crashed', ...(endsItself.has(path) ? ['shown'] : [])]).toContain(outcome)
    await nextIsFine()
  })
})
