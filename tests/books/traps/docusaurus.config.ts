import type {Config} from '@docusaurus/types';

// url: 'https://wrong-in-a-comment.example',
/* title: 'Wrong in a block comment', baseUrl: '/wrong/' */
const owner = {name: 'Somebody', site: "https://wrong-owner.example"};

const config: Config = {
  title: 'The book\'s own title \u2013 with an escape',
  tagline: `Built in ${new Date().getFullYear()}, {with: 'braces'}`,
  url: 'https://traps.example', // not 'https://wrong.example'
  baseUrl: '/book/',
  onBrokenLinks: process.env.CI ? 'throw' : 'warn',
  presets: [
    [
      'classic',
      /** @type {import('@docusaurus/preset-classic').Options} */
      ({
        docs: {
          path: 'docs',
          routeBasePath: 'read',
          editUrl: ({docPath}) => `https://wrong-edit.example/${docPath}`,
        },
        blog: {routeBasePath: 'news', path: 'blog'},
      }),
    ],
  ],
  themeConfig: {navbar: {title: 'Wrong, from the navbar', items: [{label: 'Url', url: 'https://wrong-item.example'}]}},
};

export default config;
