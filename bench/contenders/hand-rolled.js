import { Pool } from 'undici'
import { digestOf } from '../site.js'

/** A crawl as one writes it by hand in an afternoon: a Set, an array, undici. `extract(html)` returns {hrefs, record}. */
export async function crawlByHand(extract) {
  const { origin, concurrency } = JSON.parse(process.argv[2])
  const pool = new Pool(origin, { connections: concurrency })
  const seen = new Set([`${origin}/`])
  const queue = [`${origin}/`]
  const records = []
  let taken = 0
  let active = 0

  await new Promise((resolve, reject) => {
    const visit = async (url) => {
      const { body } = await pool.request({ path: url.slice(origin.length), method: 'GET' })
      const { hrefs, record } = extract(await body.text())
      records.push(record)
      for (const href of hrefs) {
        const link = new URL(href, url).href
        if (!link.startsWith(origin) || seen.has(link)) continue
        seen.add(link)
        queue.push(link)
      }
    }
    const pump = () => {
      if (active === 0 && taken === queue.length) resolve()
      while (active < concurrency && taken < queue.length) {
        active++
        visit(queue[taken++]).then(() => {
          active--
          pump()
        }, reject)
      }
    }
    pump()
  })
  await pool.close()
  console.log(JSON.stringify({ pages: taken, digest: digestOf(records) }))
}
