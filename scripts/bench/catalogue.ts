/**
 * Nanoseconds that one look-up in the API catalogue takes, over 2,000 rules: paths that a rule names, paths that none does,
 * and the patterns that would make a matcher which backtracks walk furthest. Run: `node scripts/bench/catalogue.ts`.
 */
import { type Catalogue, compileCatalogue, matchRule, type Product, type Rule } from '../../src/domain/catalogue.ts';

const RULES = 2000;
const LOOK_UPS = 200_000;
const ROUNDS = 7;

type Request = { readonly method: string; readonly segments: readonly string[] };

/** 50 APIs of 8 resources with five rules each, as an organisation's catalogue would have them. */
function ordinary(): { rules: Rule[]; hits: Request[]; misses: Request[] } {
  const rules: Rule[] = [];
  const hits: Request[] = [];
  const misses: Request[] = [];
  for (let i = 0; i < RULES / 5; i += 1) {
    const path = `/services/api/x/area${i % 50}/v1/resource${Math.floor(i / 50)}`;
    const scope = `resource${i}:view`;
    rules.push({ methods: ['GET', 'POST'], path, scope });
    rules.push({ methods: ['GET', 'PATCH', 'PUT'], path: `${path}/{id}`, scope });
    rules.push({ methods: ['GET', 'POST'], path: `${path}/{id}/items`, scope });
    rules.push({ methods: ['GET', 'DELETE'], path: `${path}/{id}/items/{itemId}`, scope });
    rules.push({ methods: ['GET'], path: `${path}/files/{file*}`, scope });
    for (const tail of ['', `/${i}a`, `/${i}a/items`, `/${i}a/items/${i}b`, `/files/a/b/${i}`]) {
      hits.push({ method: 'GET', segments: `${path}${tail}`.slice(1).split('/') });
    }
    for (const tail of ['s', `/${i}a/parts`, `/${i}a/items/${i}b/more`]) {
      misses.push({ method: 'GET', segments: `${path}${tail}`.slice(1).split('/') });
    }
    misses.push({ method: 'DELETE', segments: `${path}/${i}a`.slice(1).split('/') });
  }
  return { rules, hits, misses };
}

/** Every choice of a literal or a parameter in ten places: a matcher that backtracks visits a node for each. */
function overlapping(): { rules: Rule[]; misses: Request[] } {
  const rules = Array.from({ length: RULES }, (_, i) => {
    const choices = Array.from({ length: 10 }, (_, at) => (i & (1 << at) ? `{p${at}}` : 'a'));
    return { methods: ['GET'], path: `/${choices.join('/')}/${i < 1024 ? 'x' : 'y'}`, scope: 'a:b' };
  });
  return { rules, misses: [{ method: 'GET', segments: [...Array<string>(10).fill('a'), 'z'] }] };
}

/** 31 places that each rule out every 31st pattern alone: no word of the bit rows is empty before the last place. */
function indistinct(): { rules: Rule[]; misses: Request[] } {
  const rules = Array.from({ length: RULES }, (_, i) => {
    const choices = Array.from({ length: 31 }, (_, at) => (i % 31 === at ? 'a' : `{p${at}}`));
    return { methods: ['GET'], path: `/${choices.join('/')}`, scope: 'a:b' };
  });
  return { rules, misses: [{ method: 'GET', segments: Array<string>(31).fill('b') }] };
}

function compile(rules: readonly Rule[]): Catalogue {
  const product: Product = { id: '1', name: 'Bench', scopes: [], rules };
  return compileCatalogue([product]);
}

function measure(name: string, catalogue: Catalogue, requests: readonly Request[], found: boolean): void {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = process.hrtime.bigint();
    for (let i = 0; i < LOOK_UPS; i += 1) {
      const { method, segments } = requests[i % requests.length] as Request;
      if ((matchRule(catalogue, method, segments) !== null) !== found) throw new Error(`${name}: a wrong answer`);
    }
    best = Math.min(best, Number(process.hrtime.bigint() - startedAt) / LOOK_UPS);
  }
  process.stdout.write(`${name.padEnd(28)} ${best.toFixed(0).padStart(6)} ns/match\n`);
}

const usual = ordinary();
const usualCatalogue = compile(usual.rules);
measure('hits', usualCatalogue, usual.hits, true);
measure('misses', usualCatalogue, usual.misses, false);
const deep = overlapping();
measure('overlapping patterns, misses', compile(deep.rules), deep.misses, false);
const worst = indistinct();
measure('the worst for bit rows', compile(worst.rules), worst.misses, false);
