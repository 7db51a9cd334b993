"""Word lists of the guard: what looks like an author's name and is none, and how journals are called."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


def _listed(text: str) -> frozenset[str]:
    """The entries of `text`, one a line or parted by `|`."""
    return frozenset(entry for line in text.splitlines() for part in line.split("|") if (entry := part.strip()))


PLACES = words(
    """
    afghanistan albania algeria angola argentina armenia australia austria azerbaijan bahrain bangladesh belarus
    belgium belize benin bhutan bolivia bosnia botswana brazil britain brunei bulgaria burundi cambodia cameroon
    canada chad chile china colombia comoros congo croatia cuba cyprus czechia denmark djibouti ecuador egypt
    england eritrea estonia eswatini ethiopia fiji finland france gabon gambia georgia germany ghana greece
    grenada guatemala guinea guyana haiti herzegovina honduras hungary iceland india indonesia iran iraq ireland
    israel italy jamaica japan jordan kazakhstan kenya kingdom kiribati korea kosovo kuwait kyrgyzstan laos
    latvia lebanon lesotho liberia libya liechtenstein lithuania luxembourg macedonia madagascar malawi malaysia
    maldives mali malta mauritania mauritius mexico micronesia moldova monaco mongolia montenegro morocco
    mozambique myanmar namibia nauru nepal netherlands nicaragua niger nigeria norway oman pakistan palau
    palestine panama paraguay peru philippines poland portugal qatar romania russia rwanda samoa scotland
    senegal serbia seychelles singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria
    taiwan tajikistan tanzania thailand togo tonga tunisia turkey turkmenistan tuvalu uganda ukraine emirates
    uruguay uzbekistan vanuatu venezuela vietnam wales yemen zambia zimbabwe africa america americas antarctica
    asia europe oceania caribbean scandinavia states union zealand arabia lanka rico ulster

    alabama alaska arizona arkansas california carolina connecticut dakota delaware florida hawaii idaho
    illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi
    missouri montana nebraska nevada hampshire jersey ohio oklahoma oregon pennsylvania tennessee texas utah
    vermont virginia wisconsin wyoming ontario quebec alberta manitoba saskatchewan newfoundland tasmania
    queensland bavaria catalonia lombardy flanders

    london paris berlin munich hamburg vienna rome milan madrid barcelona lisbon dublin edinburgh glasgow oxford
    cambridge manchester birmingham leeds amsterdam rotterdam utrecht leiden brussels copenhagen stockholm
    gothenburg oslo helsinki tampere warsaw prague budapest athens istanbul ankara moscow beijing shanghai
    guangzhou wuhan hong kong tokyo osaka kyoto seoul busan delhi mumbai chennai bangalore karachi lahore dhaka
    cairo nairobi lagos johannesburg durban sydney melbourne brisbane perth auckland toronto montreal vancouver
    ottawa boston york chicago houston dallas seattle angeles francisco diego philadelphia baltimore atlanta
    cleveland rochester framingham geneva zurich basel lausanne bern bethesda kyiv tehran baghdad riyadh doha
    dubai jerusalem haifa manila jakarta bangkok hanoi taipei lima bogota santiago buenos aires paulo janeiro
    rio havana atlantis tianjin chengdu hangzhou nanjing

    aachen aalborg aarhus abuja accra adelaide aden agincourt ahmedabad albuquerque aleppo alexandria alsace amazonas
    amazonia amhara amman andalusia andes andorra anhui ansan antananarivo antwerp appalachia arequipa assam asturias
    asuncion augsburg bagamoyo bahamas bahia bali balkans balochistan baltics bamako bangui barbados basra beira beirut
    belfast belgrade benelux bengaluru bihar bilbao blantyre bohemia bologna bonn bordeaux borneo brasilia bratislava
    brazzaville bremen bristol brittany brno bucharest buffalo bujumbura bukavu bulawayo busselton butembo calabria
    calgary campinas canberra caracas cardiff catania ceara cebu chandigarh changsha chechnya chiapas chittagong
    chongqing christchurch cincinnati cluj coimbra cologne colorado conakry cotonou crete crimea curitiba cusco daegu
    daejeon dakar dalarna dalian damascus darfur debrecen denver detroit dijon djenne dodoma donetsk dortmund douala
    drenthe dresden dunedin dusseldorf edmonton eindhoven entebbe enugu erlangen finnmark fortaleza frankfurt freetown
    freiburg friesland fujian fukuoka funen gaborone galicia gansu gaza gdansk genoa ghent gippsland goa goma gondar
    gotland gottingen granada graz greenland greifswald grenoble groningen guadalajara guam guangdong guangxi guayaquil
    gueckedou guizhou gujarat gulu gwangju gyeonggi hainan halifax hannover harare harbin hargeisa haryana hebei
    heidelberg heilongjiang henan herat himalaya hiroshima hisayama hobart hodeidah hokkaido honolulu hordaland hubei
    hunan hyderabad iasi ibadan iberia ifakara illawarra ilorin incheon indianapolis innsbruck iquitos isfahan
    islamabad izmir jaipur java jeddah jeju jiangsu jiangxi jigawa jilin jimma jinan jutland kabul kaduna kampala
    karelia karnataka kashmir kathmandu katowice kenema kerala kharkiv khartoum kiel kigali kilifi kinshasa kintampo
    kismayo kisumu kivu kobe kolkata krakow kuakini kumamoto kumasi kunming kuopio lanzhou lapland leipzig leuven
    liaoning libreville liege liguria lille lilongwe linkoping liverpool ljubljana lodz lome loreto louisville luanda
    lubeck lublin lubumbashi lucknow lusaka luzon lviv macau maghreb maharashtra mainz makeni malaga malmo managua
    manaus mandalay maputo marburg mashhad mbarara medellin mekelle melanesia memphis miami midwest milwaukee mindanao
    minneapolis minsk modena mogadishu mombasa monrovia monterrey montevideo montpellier moravia mosul murcia muscat
    mwanza mysore mzuzu nagasaki nagoya nampula nantes naples nashville navarra navarre navrongo ndola newark niakhar
    niamey niigata nijmegen ningxia nordland normandy novosibirsk oakland oaxaca odense odesa odisha okinawa omaha
    orebro oromia otago ouagadougou oulu padua palawan palermo pamplona papua parma patagonia pelotas penang pernambuco
    peshawar phoenix piedmont pisa pittsburgh plovdiv podgorica polynesia portland porto poznan pretoria pristina
    puducherry puebla puglia pune punjab qingdao qinghai quetta quito rajasthan rakai recife regensburg rennes
    reykjavik riga rostock rouen saarland sabah sacramento sahel saitama salamanca salzburg sanaa sapporo sarajevo
    sarawak sardinia saxony scania sendai seville shaanxi shandong shanxi shenyang shenzhen shiraz siberia sichuan
    sicily siena sikasso silesia sindh skane skopje sofia sokoto sonora soweto strasbourg stuttgart sumatra surabaya
    suzhou sylhet szeged tabriz tallinn tampa tegucigalpa telangana thessaloniki thies thuringia tibet tigray timisoara
    tirana toliara toulouse transylvania trieste troms tromso trondheim tubingen tucson tulsa turin turkiye turku
    tuscany tyrol ulsan umbria umea uppsala urumqi vasterbotten vellore veneto verona victoria vientiane vilnius
    waikato wellington windhoek wroclaw wurzburg xiamen xinjiang yakutia yangon yaounde yokohama yucatan
    yunnan zagreb zanzibar zaragoza bialystok bergamo merseyside yorkshire
    zeeland zhejiang zhengzhou ziguinchor

    european american british english french german dutch italian spanish swedish danish norwegian finnish
    canadian australian japanese chinese korean indian african asian brazilian mexican swiss austrian belgian
    polish russian turkish iranian egyptian nigerian israeli greek irish scottish welsh international national
    regional federal royal
    """
)
"""Countries, regions, cities and what belongs to them, in lower case."""

LONG_PLACES = _listed(
    """
    Sierra Leone|El Salvador|Burkina Faso|Costa Rica|Puerto Rico|Cabo Verde|Cape Verde|Ivory Coast|Côte d'Ivoire
    Viet Nam|Timor-Leste|Trinidad and Tobago|Papua New Guinea|São Tomé and Príncipe|Antigua and Barbuda|Sri Lanka
    Saint Lucia|St. Lucia|San Marino|Gaza Strip|West Bank|Hong Kong|British Columbia|Nova Scotia|New Brunswick
    Rhode Island|New Orleans|St. Louis|Salt Lake City|Kansas City|Oklahoma City|Iowa City|Ann Arbor|Des Moines
    Baton Rouge|Las Vegas|Fort Worth|San Antonio|San Juan|Santa Fe|Long Island|Staten Island|Olmsted County
    Cape Town|Eastern Cape|Western Cape|Northern Cape|Free State|KwaZulu-Natal|Port Harcourt|Dar es Salaam|Addis Ababa
    Tel Aviv|Abu Dhabi|Kuala Lumpur|Phnom Penh|Chiang Mai|Port Moresby|Da Nang|Da Qing|Inner Mongolia|Tamil Nadu
    Uttar Pradesh|Andhra Pradesh|Madhya Pradesh|Himachal Pradesh|West Bengal|Khyber Pakhtunkhwa|Porto Alegre
    Belo Horizonte|Minas Gerais|Mato Grosso|Santa Catarina|Rio Grande do Sul|La Paz|Santo Domingo|Ciudad Juárez
    San Luis Potosí|Castilla y León|Castile and León|South Tyrol|Gran Canaria|Isle of Man|Isle of Wight
    Johns Hopkins|Mayo Clinic|Cleveland Clinic|Kaiser Permanente|Mass General|Eli Lilly|Global Fund|World Bank
    Supreme Court|Milton Keynes|Stoke-on-Trent|New Caledonia|Cook Islands|Solomon Islands|Faroe Islands|Marshall Islands
    """
)
"""Places and bodies whose words are names of people too, and only together are none."""

NOT_NAMES = PLACES | words(
    """
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday spring summer autumn
    fall winter easter christmas ramadan alpha beta gamma delta epsilon omicron sigma lambda alma-ata

    ozempic wegovy mounjaro zepbound leqembi kisunla aduhelm humira keytruda opdivo covaxin sputnik vaxzevria shingrix
    gardasil dengvaxia paxlovid zolgensma trikafta entresto xarelto eliquis jardiance farxiga fitbit
    facebook twitter zoom tiktok instagram youtube tricare medscape epic cerner truven optum marketscan biobank
    lifelines betula kungsholmen bogalusa avon caerphilly newcastle hajj lockdown lockdowns monsoon biogen eisai gilead
    amgen genentech karolinska harvard stanford charite zinc iron magnesium calcium potassium sodium selenium iodine
    lithium folate curcumin cannabis cannabidiol nicotine melatonin levodopa artemether psilocybin probiotics
    prebiotics rotigotine shigella escherichia clostridioides clostridium mycobacterium anopheles aedes culex wolbachia
    lassa nipah hendra borrelia leptospira toxoplasma lactobacillus bifidobacterium akkermansia bacteroides prevotella
    trypanosoma leishmania giardia cryptosporidium wuchereria enterobacter acinetobacter enterococcus
    campylobacter brucella coxiella bartonella neisseria treponema bordetella haemophilus
    cryptococcus pneumocystis

    the a an in on at by of to from for with since until till during before after between among over under about
    around approximately nearly almost only all both some most many several few more less than then when while
    where whereas as and or but nor yet so if because however therefore thus hence also further moreover
    although though there these those this that it its they their we our he she his her who which what how why
    not no into through throughout across within without per via versus vs up down out off again once each every
    either neither other another such same own very i ii iii iv v vi vii viii ix x

    year years month months week weeks day days hour hours visit phase stage grade group arm cohort class type
    version edition table figure fig box appendix supplement section part volume issue page step model
    level score scale index study studies trial trials review reviews analysis meta-analysis survey registry
    census report guideline guidelines guidance recommendation recommendations criteria consensus statement
    position update updated revised revision protocol programme program project plan strategy policy act law
    bill directive regulation declaration convention classification definition standard standards conference
    congress meeting symposium club workshop summit agenda initiative network consortium collaboration collaborative
    committee commission council agency association society college academy institute institutes university
    hospital centre center department ministry organization organisation foundation trust service services
    system panel board task force forum federation school medicaid medicare cochrane medline embase scopus
    pubmed cinahl psycinfo google scholar excel stata windows office word vision healthy people olympics
    hurricane pandemic epidemic outbreak influenza ebola zika covid sars mers dengue malaria baseline
    follow-up total overall average median mean range population incidence prevalence mortality survival
    outcome outcomes result results finding findings conclusion conclusions background objective objectives
    methods method evidence data database databases search searches record records article articles paper papers
    publication publications patients participants subjects women men children adults infants persons
    individuals volunteers nurses physicians doctors clinicians surgeons researchers investigators authors
    experts students parents caregivers framework roadmap charter manual handbook textbook bulletin newsletter
    amendment

    republic president government parliament senate election brexit earthquake tsunami fukushima chernobyl
    horizon erasmus interreg eurostat globocan eurocare whitehall consort prisma strobe gencode ensembl refseq uniprot
    reactome genbank pfam matlab python endnote covidence rayyan mendeley zotero nvivo graphpad prism banff baveno
    maastricht lugano bethesda delphi sendai fukuoka nuremberg astana marseille lyon montpellier gleneagles
    tdap keto paleo comirnaty spikevax pfizer moderna novavax astrazeneca sinovac sinopharm novartis sanofi
    medtronic illumina chikungunya mpox monkeypox hantavirus norovirus rotavirus rhinovirus cholera
    polio measles mumps rubella pertussis rabies yersinia candida aspergillus staphylococcus streptococcus salmonella
    listeria legionella klebsiella pseudomonas mycoplasma chlamydia helicobacter plasmodium wuhan-hu
    covax gavi unicef unaids eurordis orphanet medline-ovid codelist snomed loinc rxnorm cosmic oncokb clinvar gnomad
    gtex encode fantom tcga target season semester batch sample item wave round sweep cycle module release build
    compound drug agent strain clone mutant plasmid vector peptide antigen antibody isolate variant lot formula product
    plate well tube slide chip exam katrina obamacare
    device substance present current today pre post mid early late yoga pilates
    journal newspaper introductory republished comparative observational multicenter multicentre pragmatic adaptive
    equivalence twin validation evaluation clinical randomized randomised controlled systematic narrative scoping
    umbrella qualitative mixed prospective retrospective longitudinal experimental preclinical editorial letter comment
    practice biography interview lecture personal dataset erratum expression concern notice preprint chapter

    insulin aspirin warfarin heparin digoxin morphine ketamine caffeine alcohol exercise diet

    jahr jahre jahren seit deutschland osterreich schweiz frankreich italien spanien europa espana francia italia
    alemania brasil annee januar februar marz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre gennaio febbraio aprile maggio giugno luglio settembre ottobre
    dicembre janvier fevrier avril juin juillet aout septembre octobre novembre decembre studie estudio etude

    ultrasound surgery medicine nursing pharmacy public health disease control prevention world global care
    cancer diabetes stroke asthma obesity hypertension heart failure kidney lung liver brain breast prostate
    vitamin protein factor hepatitis human animal mouse rat
    """
)
"""Capitalised words that stand before a year and name no author, in lower case."""

# Methods, signs, diseases and firms that bear a family name: "Cox 1972 model" apart, they are no citation. An author of
# the run's own works who is called so is one where only an author can stand.
NAMED_THINGS = words(
    """
    alzheimer parkinson crohn huntington hodgkin graves cushing addison hashimoto down marfan raynaud barrett
    bell kaposi paget student cohen cochran pearson spearman kaplan meier mann whitney wilcoxon bonferroni tukey
    bayes cronbach levene dunnett kendall fleiss gleason apgar glasgow karnofsky barthel beck hamilton likert
    charlson child pugh rankin kolmogorov smirnov shapiro wilk kruskal wallis friedman mcnemar hosmer lemeshow
    sjogren behcet takayasu guillain-barre guillain barre ehlers-danlos charcot-marie-tooth charcot duchenne fabry
    gaucher pompe tay-sachs rett angelman prader-willi tourette asperger meniere zollinger-ellison lyme chagas
    hirschsprung creutzfeldt-jakob lewy wernicke korsakoff stevens-johnson stargardt waldenstrom peutz-jeghers
    li-fraumeni hippel-lindau budd-chiari klinefelter sezary dupuytren peyronie roche bayer merck
    clavien dindo mantel haenszel schoenfeld poisson gauss markov breslow hardy weinberg mendel fisher
    """
)

JOURNALS = _listed(
    """
    new england journal of medicine|the new england journal of medicine|n engl j med|nejm|nejm evidence|lancet
    the lancet|lancet oncology|lancet oncol|lancet neurology|lancet neurol|lancet infectious diseases
    lancet infect dis|lancet psychiatry|lancet respiratory medicine|lancet respir med
    lancet diabetes & endocrinology|lancet diabetes and endocrinology|lancet diabetes endocrinol
    lancet global health|lancet glob health|ebiomedicine|eclinicalmedicine|lancet haematology|lancet hiv
    lancet public health|lancet digital health|jama|journal of the american medical association
    jama internal medicine|jama intern med|jama oncology|jama oncol|jama network open|jama netw open|jama neurology
    jama psychiatry|jama pediatrics|jama cardiology|jama surgery|archives of internal medicine|arch intern med
    arch gen psychiatry|arch neurol|arch surg|bmj|british medical journal|the bmj|br med j|bmj open|bmc medicine
    bmc med|annals of internal medicine|ann intern med|annals of surgery|ann surg|annals of oncology|ann oncol
    ann neurol|annals of neurology|annals of the rheumatic diseases|ann rheum dis|ann emerg med
    annals of emergency medicine|nature medicine|nat med|nature genetics|nat genet|nature communications|nat commun
    nature biotechnology|nat biotechnol|nature reviews|scientific reports|sci rep|science translational medicine
    sci transl med|cell metabolism|cell metab|cell reports|cell rep|molecular cell|cancer cell|immunity|pnas
    proc natl acad sci u s a|proc natl acad sci usa|proceedings of the national academy of sciences|elife|plos one
    plos medicine|plos med|plos biology|plos genetics|plos genet|plos pathogens|plos ntds|embo j|embo journal
    j biol chem|journal of biological chemistry|journal of clinical oncology|j clin oncol|jco|cancer research
    cancer res|clinical cancer research|clin cancer res|journal of clinical investigation|j clin invest|j exp med
    journal of experimental medicine|blood advances|circulation|circ res|circulation research|european heart journal
    eur heart j|journal of the american college of cardiology|j am coll cardiol|jacc|am heart j
    american heart journal|hypertension|heart rhythm|am j cardiol|europace|gastroenterology|hepatology|j hepatol
    journal of hepatology|am j gastroenterol|american journal of gastroenterology|diabetes care|diabetologia
    diabetes obes metab|j clin endocrinol metab|endocr rev|thyroid|metabolism|neurology|neuron|j neurosci
    journal of neuroscience|mov disord|movement disorders|epilepsia|alzheimers dement|alzheimer's & dementia
    j neurol neurosurg psychiatry|j alzheimers dis|journal of alzheimer's disease|cephalalgia|am j psychiatry
    american journal of psychiatry|br j psychiatry|british journal of psychiatry|biol psychiatry
    biological psychiatry|psychol med|psychological medicine|j affect disord|world psychiatry|mol psychiatry|chest
    am j respir crit care med|ajrccm|eur respir j|european respiratory journal|thorax|crit care med
    critical care medicine|intensive care med|critical care|resuscitation|anesthesiology|anesth analg|br j anaesth
    british journal of anaesthesia|anaesthesia|j thorac oncol|clin infect dis|clinical infectious diseases
    j infect dis|journal of infectious diseases|emerg infect dis|vaccine|mmwr|mmwr morb mortal wkly rep
    euro surveill|eurosurveillance|antimicrob agents chemother|j antimicrob chemother|aids|kidney int
    kidney international|j am soc nephrol|jasn|cjasn|clin j am soc nephrol|am j kidney dis|nephrol dial transplant
    arthritis rheum|arthritis rheumatol|arthritis & rheumatology|arthritis care res|j rheumatol|rheumatology
    pediatrics|j pediatr|journal of pediatrics|arch dis child|archives of disease in childhood|obstet gynecol
    obstetrics & gynecology|obstetrics and gynecology|am j obstet gynecol|bjog|hum reprod|human reproduction
    fertil steril|br j surg|british journal of surgery|j am coll surg|surgery|surg endosc|dis colon rectum
    world j surg|jbjs|j bone joint surg am|spine|clin orthop relat res|injury|radiology|eur radiol|ajr
    ajr am j roentgenol|j nucl med|am j clin nutr|american journal of clinical nutrition|j nutr|nutrients|br j nutr
    obes rev|obesity reviews|ophthalmology|am j ophthalmol|jama ophthalmol|iovs|j urol|journal of urology|eur urol
    european urology|bju int|j am geriatr soc|journal of the american geriatrics society|age ageing|age and ageing
    j gerontol a biol sci med sci|int j epidemiol|international journal of epidemiology|am j epidemiol
    american journal of epidemiology|epidemiology|am j public health|bull world health organ|health affairs
    health aff|med care|health technol assess|value health|cochrane database of systematic reviews
    cochrane database syst rev|systematic reviews|syst rev|cmaj|mja|med j aust|canadian medical association journal
    swiss med wkly|dtsch arztebl int|can j cardiol|int j cancer|eur j cancer|br j cancer
    international journal of cancer|european journal of cancer|british journal of cancer|haematologica|leukemia
    br j haematol|j thromb haemost|thromb haemost|transfusion|bone marrow transplant|clin pharmacol ther
    br j clin pharmacol|j allergy clin immunol|allergy|j invest dermatol|br j dermatol|j am acad dermatol
    jama dermatol|acta paediatr|frontiers in immunology|front immunol|frontiers in neurology|int j mol sci|cureus
    medicine (baltimore)
    """
)
"""Names and abbreviations of journals in lower case, without full stops."""

COMMON_WORD_JOURNALS = words(
    """
    nature science cell gut brain blood heart stroke pain spine chest thorax bone cancer diabetes allergy
    obesity sleep medicine neurology radiology surgery pediatrics hepatology circulation hypertension immunity
    vaccine aids injury epidemiology anaesthesia anesthesiology gastroenterology ophthalmology rheumatology
    thyroid metabolism nutrients resuscitation transfusion leukemia neuron pharmacotherapy toxicology
    virology urology andrology health
    """
)
"""Journals whose name is a word: read as a journal only with a capital and a year set off behind it."""

JOURNAL_FAMILIES = words("lancet jama nature bmc bmj plos cell frontiers nejm cochrane eclinicalmedicine")
"""First words of many journals: `Lancet Oncology`, `BMC Cancer`, `Frontiers in Immunology`."""

JOURNAL_WORDS = words(
    """
    j am br eur int ann arch clin med engl acad sci surg res rev soc proc natl psychiatry psychiatr acta adv
    annu appl asian biochem biol biomed bull can cardiol cardiovasc chem chir chron commun crit curr dermatol
    dev diabet diabetol diagn dig dis endocrinol environ epidemiol exp exper fam gastroenterol gen genet geriatr
    gerontol gynaecol gynecol haematol hematol hepatol hosp hum hyg immunol infect intern invest jpn lab mal
    metab microbiol mol monit nat nephrol neurobiol neurol neurosci neurosurg nucl nurs nutr obes obstet oncol
    ophthalmol oral orthop otolaryngol paediatr pathol pediatr perinatol pharm pharmacol pharmacother physiol
    plast pract prev psychol pulm qual radiat radiol rehabil reprod respir rheumatol scand scr stat stud suppl
    symp syst ther thorac thromb today toxicol transl transpl transplant trop urol vasc vet virol wkly world z
    care health synth lett rep
    """
)
"""Words of abbreviated journal names, as the NLM catalogue shortens them."""

WORD_NAMES = words(
    """
    young brown white black gray grey green long short small little strong best rich power price cook park bush
    wood woods stone hill lake field fields forest rivers river day may march august winter summer spring frost
    snow rose lily daisy case cross bond law king prince bishop pope knight noble page read reading write wise
    good goodman moody love hope grace faith joy christian church bell ball hand foot head heart bone blood body
    wall house hall gate street lane bridge ford marsh moor moss reed root branch berry fish fox wolf bird crane
    drake swan hawk lamb bull cotton silver gold cooper carter baker fisher hunter shepherd taylor mason miller
    smithson sharp swift hardy wild early speed rush hurst waters wells pool pond banks west east north south
    england ireland france holland german french english welsh scott major minor marks stark block stein mean
    means more most such will can do so an ma he she me you us men man lee
    """
)
"""Family names that are words too: read as an author only directly before a year or behind a first name."""

SURNAMES = words(
    """
    smith johnson williams jones davis wilson anderson thomas jackson thompson harris robinson lewis walker hall
    allen wright torres nguyen hill flores adams nelson mitchell roberts phillips evans turner parker
    collins edwards stewart morris rogers morgan peterson bailey reed kelly howard ramos watson brooks
    sanders bennett ross henderson coleman jenkins perry powell patterson hughes simmons foster bryant alexander
    russell griffin hayes myers hamilton graham sullivan wallace owens jordan reynolds gibson ellis stevens
    tucker wagner hunter hicks crawford boyd mason kennedy warren dixon hawkins dunn perkins hudson spencer
    gardner stephens payne arnold berry matthews hart cunningham bradley andrews elliott armstrong carpenter
    ruiz lane greene clarke macdonald mackenzie fraser murray o'brien o'connor o'neill o'sullivan o'reilly doyle
    byrne gallagher davies griffiths lloyd

    garcia rodriguez martinez hernandez gonzalez gonzales perez sanchez ramirez rivera gomez diaz
    cruz morales gutierrez ortiz chavez castillo jimenez moreno romero herrera medina aguilar vargas castro
    mendoza vasquez fernandez alvarez munoz alonso navarro dominguez vazquez gil serrano blanco molina ortega
    delgado suarez silva santos oliveira souza sousa pereira ferreira rodrigues almeida carvalho martins
    araujo ribeiro barbosa lopes gomes

    rossi russo ferrari esposito bianchi romano colombo ricci marino greco conti deluca mancini costa giordano
    rizzo lombardi moretti dupont durand dubois moreau laurent lefebvre leroy roux fournier girard bonnet
    lambert rousseau vincent muller mueller schmidt schneider weber meyer schulz becker hoffmann
    schafer koch bauer richter klein wolf schroder neumann schwarz zimmermann braun kruger hofmann hartmann
    lange krause lehmann schulze maier kohler jansen janssens visser bakker dekker vermeulen
    peeters mertens dejong devries hansen jensen nielsen pedersen andersen christensen larsen sorensen rasmussen
    jorgensen madsen kristensen olsen johansen johansson andersson karlsson nilsson eriksson larsson olsson
    persson svensson gustafsson pettersson lindqvist lindstrom korhonen virtanen makinen nieminen kowalski
    kowalczyk nowak wisniewski wojcik kaminski lewandowski zielinski novak svoboda horvath kovacs szabo toth
    nagy popescu ionescu papadopoulos ivanov ivanova petrov petrova sidorov kuznetsov smirnova popov volkov
    sokolov shevchenko kovalenko yilmaz kaya demir celik sahin ozturk aydin arslan dogan kilic

    wang zhang chen liu yang huang zhao zhou zhu guo lin luo zheng liang xie tang deng feng peng zeng xiao tian
    dong pan yuan jiang cai yu du cheng wei su lu ding ren shen yao cui tan lai jia liao xiong xu sun ma hu gao
    fu fang wong chan chang cheung leung lam kwok tsai hsu hsieh kim lee choi jung kang cho yoon lim han shin
    seo kwon hwang ahn hong yamada tanaka suzuki sato watanabe takahashi ito yamamoto nakamura kobayashi kato
    yoshida sasaki yamaguchi matsumoto inoue kimura hayashi shimizu yamazaki mori ikeda hashimoto ishikawa ogawa
    okada hasegawa fujita goto fujiwara maeda tran pham hoang phan vuong huynh singh kumar sharma patel gupta
    khan verma reddy agarwal mehta shah joshi iyer mukherjee chatterjee banerjee das ghosh bose rao nair menon
    pillai ahmed ali hussain hossain rahman islam chowdhury malik iqbal siddiqui mohammed mohamed hassan
    hussein ibrahim abdullah khalil saleh mansour hosseini ahmadi mohammadi rezaei karimi okafor okonkwo adeyemi
    ogunleye mensah owusu boateng nkosi dlamini ndlovu moyo banda phiri mwangi otieno cohen levy mizrahi
    friedman goldberg goldstein rosenberg rosen shapiro katz kaplan levine weiss schwartz

    kaufmann hauser fuchs vogel friedrich keller berger winkler lorenz baumann schuster jager kraus kuhn pohl
    horn busch bergmann voigt sauer ziegler brandt haas schreiber graf dietrich kuhne engel ernst seidel
    heinrich haase arndt barbier perrin morin mathieu clement gauthier dumont fontaine lopez robin chevalier
    francois mercier blanc guerin boyer garnier lemaire renaud giraud brunet schmitt colin marchand vidal caron
    picard leclerc galli conte gatti mariani fabbri marchetti rinaldi caruso ferrara villa martini leone longo
    gentile serra cabrera campos vega fuentes carrasco reyes caballero nieto aguirre pascual herrero montero
    hidalgo lorenzo santana ibanez ferrer mora santiago duran benitez arias connolly murphy walsh kavanagh
    brennan nolan quinn mclaughlin campbell sinclair haverkamp hendriks dijkstra smit meijer mulder hoekstra
    vandenberg jacobs claes willems lund berg dahl holm lindgren lindberg bergstrom sandberg hakansson nystrom
    lundgren dubey tiwari pandey mishra saxena kapoor malhotra bhatt desai kulkarni patil naik krishnan
    subramanian venkatesan nakagawa murakami ueda morita sugiyama matsuda harada nomura arai onishi osei adebayo
    abebe tesfaye bekele kamau njoroge chukwu eze abiodun mckenna mckay mcgrath mccarthy mcmahon mcbride mccoy
    mcintyre maclean macleod
    """
)
"""Frequent family names of the world, bare: where the form leaves open whether a word is an author, these are."""

SURNAMES_CJK = (
    "[王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫朱马馬胡郭林何高梁郑鄭罗羅宋谢謝唐韩韓曹许許邓鄧冯馮曾程蔡彭潘袁于董余苏蘇叶葉吕呂魏"
    "蒋蔣田杜丁沈姜范江傅钟鍾卢盧汪戴崔任陆陸廖姚方金邱夏谭譚韦韋贾賈邹鄒石熊孟秦阎薛侯雷白龙段郝孔邵史毛常万顾賴赖武康贺严尹钱]"
    "[㐀-鿿]{0,2}"
    "|(?:佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|斎藤|清水|山崎|池田|橋本|石川|小川"
    "|岡田|長谷川|藤田|後藤|前田|近藤|遠藤|青木|坂本|村上|太田|西村|福田|三浦|藤井|岡本|松田|中島|中野|原田|小野|竹内|田村|上田|森田|和田)"
    "[㐀-鿿]{0,3}"
    "|[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민나진지엄채원천방공현함변염여추도소석선설마길][가-힣]{1,2}"
)
"""Chinese, Japanese and Korean names that begin with a frequent family name, as a pattern."""
